(create_table (object_reference) @name) @def.struct
(create_view (object_reference) @name (create_query) @body) @def.struct
(create_materialized_view (object_reference) @name (create_query) @body) @def.struct
(create_function (keyword_function) . (object_reference) @name (function_body (dollar_quote) (_) @body (dollar_quote))) @def.function
(create_function (keyword_function) . (object_reference) @name (function_body)? @body) @def.function
(create_trigger (keyword_trigger) . (object_reference) @name) @def.function
(create_type (object_reference) @name) @def.type
(create_index column: (_) @name) @def.field
(column_definition name: (_) @name) @def.field
(invocation (object_reference name: (_) @ref.call))
