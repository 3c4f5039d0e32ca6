(function_definition declarator: (function_declarator declarator: (_) @name) body: (_)? @body) @def.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)) body: (_)? @body) @def.function
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name)) body: (_)? @body) @def.function
(declaration declarator: (function_declarator declarator: (_) @name)) @def.function
(field_declaration declarator: (function_declarator declarator: (_) @name)) @def.method
(class_specifier name: (_) @name body: (_)) @def.class
(struct_specifier name: (_) @name body: (_)) @def.struct
(union_specifier name: (_) @name body: (_)) @def.struct
(enum_specifier name: (_) @name body: (_)) @def.enum
(namespace_definition name: (_) @name) @def.module
(concept_definition name: (_) @name) @def.interface
(alias_declaration name: (_) @name) @def.type
(type_definition declarator: (type_identifier) @name) @def.type
(preproc_def name: (_) @name) @def.constant
(preproc_function_def name: (_) @name) @def.macro
(field_declaration declarator: (field_identifier) @name) @def.field
(preproc_include path: (_) @module) @import
(base_class_clause (type_identifier) @ref.extends)
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression field: (_) @ref.call))
(call_expression function: (qualified_identifier name: (_) @ref.call))
(type_identifier) @ref.type
