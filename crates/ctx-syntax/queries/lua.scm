(function_declaration name: (_) @name body: (_)? @body) @def.function
(chunk (assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition body: (_)? @body))) @def.function)
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name))) @def.constant)
(function_call name: (identifier) @ref.call)
(function_call name: (dot_index_expression field: (_) @ref.call))
(function_call name: (method_index_expression method: (_) @ref.call))
