(function_definition name: (_) @name body: (_) @body) @def.function
(class_definition name: (_) @name) @def.class
(module (expression_statement (assignment left: (identifier) @name) @def.constant))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @def.constant))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @def.field)))
(function_definition body: (block . (expression_statement (string) @doc)))
(class_definition body: (block . (expression_statement (string) @doc)))
(import_statement name: (_) @module) @import
(import_from_statement module_name: (_) @module) @import
(class_definition superclasses: (argument_list (identifier) @ref.extends))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @ref.extends)))
(call function: (identifier) @ref.call)
(call function: (attribute attribute: (identifier) @ref.call))
(type (identifier) @ref.type)
