(function_declaration name: (_) @name body: (_)? @body) @def.function
(source_file (variable_declaration (identifier) @name) @def.constant)
(container_field name: (_) @name) @def.field
(call_expression function: (identifier) @ref.call)
(call_expression function: (field_expression member: (_) @ref.call))
