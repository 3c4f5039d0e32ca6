(create_table [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)]) @def.struct
(create_view [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)] (create_query) @body) @def.struct
(create_materialized_view [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)] (create_query) @body) @def.struct
(create_function (keyword_function) . [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)] (function_body (dollar_quote) (_) @body (dollar_quote))) @def.function
(create_function (keyword_function) . [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)] (function_body)? @body) @def.function
(create_trigger (keyword_trigger) . [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)]) @def.function
(create_type [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)]) @def.type
(create_index column: (_) @name) @def.field
(create_sequence [(object_reference !schema name: (_) @name) (object_reference schema: (_) @within name: (_) @name)]) @def.constant
(create_schema (identifier) @name) @def.module
(create_database (identifier) @name) @def.module
(create_role (identifier) @name) @def.constant
(create_extension (identifier) @name) @def.constant
(add_constraint (identifier) @name) @def.field
(constraint name: (identifier) @name) @def.field
(column_definition name: (_) @name) @def.field
(invocation (object_reference name: (_) @ref.call))
