(create_table (object_reference) @name) @def.struct
(create_view (object_reference) @name) @def.struct
(create_function (object_reference) @name (function_body)? @body) @def.function
(create_index column: (_) @name) @def.field
(column_definition name: (_) @name) @def.field
(invocation (object_reference name: (_) @ref.call))
