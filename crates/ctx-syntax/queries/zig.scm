(function_declaration name: (_) @name body: (_)? @body) @def.function
(variable_declaration . (identifier) @name [(struct_declaration) (union_declaration) (opaque_declaration)]) @def.struct
(variable_declaration . (identifier) @name [(enum_declaration) (error_set_declaration)]) @def.enum
(source_file (variable_declaration . (identifier) @name) @def.constant)
(struct_declaration (variable_declaration . (identifier) @name) @def.constant)
(enum_declaration (variable_declaration . (identifier) @name) @def.constant)
(union_declaration (variable_declaration . (identifier) @name) @def.constant)
(opaque_declaration (variable_declaration . (identifier) @name) @def.constant)
(container_field name: (_) @name (#not-eq? @name "")) @def.field
(error_set_declaration (identifier) @name @def.field)
(test_declaration [(string (string_content) @title) (identifier) @title] (block) @body) @def.function
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression member: (_) @ref.call))
