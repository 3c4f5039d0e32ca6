(function_definition declarator: (function_declarator declarator: (_) @name) body: (_) @body) @def.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)) body: (_) @body) @def.function
(translation_unit (declaration declarator: (function_declarator declarator: (_) @name)) @def.function)
(struct_specifier name: (_) @name body: (_)) @def.struct
(union_specifier name: (_) @name body: (_)) @def.struct
(enum_specifier name: (_) @name body: (_)) @def.enum
(type_definition declarator: (type_identifier) @name) @def.type
(preproc_def name: (_) @name) @def.constant
(preproc_function_def name: (_) @name) @def.macro
(field_declaration declarator: (field_identifier) @name) @def.field
(preproc_include path: (_) @module) @import
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression field: (_) @ref.call))
(type_identifier) @ref.type
