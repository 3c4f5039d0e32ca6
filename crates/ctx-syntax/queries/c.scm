(function_definition declarator: (function_declarator declarator: [(identifier) @name (parenthesized_declarator (identifier) @name) (function_declarator declarator: (identifier) @name) (parenthesized_declarator (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))]) body: (_) @body) @def.function
(function_definition declarator: (pointer_declarator declarator: [(function_declarator declarator: (identifier) @name) (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))]) body: (_) @body) @def.function
(declaration declarator: [(function_declarator declarator: (identifier) @name) (pointer_declarator declarator: [(function_declarator declarator: (identifier) @name) (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))])]) @outer.function
; A variable of the file, which may be a pointer, an array, or a pointer to a function.
(declaration declarator: (identifier) @name @outer.constant)
(declaration declarator: (pointer_declarator declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name) (array_declarator declarator: (identifier) @name)]) @outer.constant)
(declaration declarator: (array_declarator declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)]) @outer.constant)
(declaration declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)]))) @outer.constant)
(declaration declarator: (init_declarator declarator: [(identifier) @name (pointer_declarator declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name) (array_declarator declarator: (identifier) @name)]) (array_declarator declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)]) (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)])))]) @outer.constant)
(struct_specifier name: (_) @name body: (_)) @def.struct
(union_specifier name: (_) @name body: (_)) @def.struct
(enum_specifier name: (_) @name body: (_)) @def.enum
(enumerator name: (_) @name) @def.field
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @def.enum
(type_definition declarator: [(type_identifier) @name (primitive_type) @name (pointer_declarator declarator: (type_identifier) @name) (array_declarator declarator: (type_identifier) @name) (function_declarator declarator: [(type_identifier) @name (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))]) (pointer_declarator declarator: (function_declarator declarator: [(type_identifier) @name (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))]))]) @def.type
(preproc_def name: (_) @name) @def.constant
(preproc_function_def name: (_) @name) @def.macro
(field_declaration declarator: [(field_identifier) @name (pointer_declarator declarator: [(field_identifier) @name (pointer_declarator declarator: (field_identifier) @name) (array_declarator declarator: (field_identifier) @name)]) (array_declarator declarator: [(field_identifier) @name (array_declarator declarator: (field_identifier) @name)]) (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name))) (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name))))]) @def.field
(preproc_include path: (_) @module) @import
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression field: (_) @ref.call))
(type_identifier) @ref.type
