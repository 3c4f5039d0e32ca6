(function_definition name: (_) @name body: (_) @body) @def.function
(class_definition name: (_) @name) @def.class
(module (expression_statement (assignment left: (identifier) @name) @def.constant))
(module (expression_statement (assignment left: [(pattern_list (identifier) @name) (pattern_list (tuple_pattern (identifier) @name)) (tuple_pattern (identifier) @name) (list_pattern (identifier) @name)]) @def.constant))
(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @def.constant))
; As it is, or as it is there: but for what a file does when it is run.
(module (if_statement condition: [(identifier) (attribute) (call) (not_operator) (boolean_operator) (true) (false) (parenthesized_expression) (comparison_operator . (_) @_word)] (block (expression_statement (assignment left: (identifier) @name) @def.constant))) (#not-eq? @_word "__name__"))
(module (if_statement condition: [(identifier) (attribute) (call) (not_operator) (boolean_operator) (true) (false) (parenthesized_expression) (comparison_operator . (_) @_word)] [(elif_clause (block (expression_statement (assignment left: (identifier) @name) @def.constant))) (else_clause (block (expression_statement (assignment left: (identifier) @name) @def.constant)))]) (#not-eq? @_word "__name__"))
(module (try_statement [(block (expression_statement (assignment left: (identifier) @name) @def.constant)) (except_clause (block (expression_statement (assignment left: (identifier) @name) @def.constant))) (else_clause (block (expression_statement (assignment left: (identifier) @name) @def.constant)))]))
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @def.type
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @def.field)))
(class_definition body: (block (expression_statement (assignment left: (pattern_list (identifier) @name)) @def.field)))
(class_definition body: (block (expression_statement (assignment right: (assignment left: (identifier) @name)) @def.field)))
(function_definition body: (block . (expression_statement (string) @doc)))
(class_definition body: (block . (expression_statement (string) @doc)))
(import_statement name: (_) @module) @import
(import_from_statement module_name: (_) @module) @import
(class_definition superclasses: (argument_list (identifier) @ref.extends))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @ref.extends)))
(call function: (identifier) @ref.call)
(call function: (attribute attribute: (identifier) @ref.call))
(type (identifier) @ref.type)
