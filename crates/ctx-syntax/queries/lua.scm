(function_declaration name: [(identifier) @name (dot_index_expression table: (_) @within field: (_) @name)] body: (_)? @body) @def.function
(function_declaration name: (method_index_expression table: (_) @within method: (_) @name) body: (_)? @body) @def.method
(chunk (assignment_statement (variable_list name: [(identifier) @name (dot_index_expression table: (_) @within field: (_) @name)]) (expression_list value: (function_definition body: (_)? @body))) @def.function)
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition body: (_)? @body)))) @def.function)
(chunk (assignment_statement (variable_list name: [(identifier) @name (dot_index_expression table: (_) @within field: (identifier) @name)])) @def.constant (#not-eq? @name "__index"))
(chunk (variable_declaration (assignment_statement (variable_list) (expression_list value: (table_constructor (field name: (identifier) @name value: (function_definition body: (_)? @body)) @def.function)))))
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name))) @def.constant)
(function_call name: (identifier) @ref.call)
(function_call name: (dot_index_expression field: (_) @ref.call))
(function_call name: (method_index_expression method: (_) @ref.call))
