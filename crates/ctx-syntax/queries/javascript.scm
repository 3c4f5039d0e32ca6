(function_declaration name: (_) @name body: (_) @body) @def.function
(generator_function_declaration name: (_) @name body: (_) @body) @def.function
(class_declaration name: (_) @name) @def.class
(method_definition name: (_) @name body: (_) @body) @def.method
(field_definition property: (_) @name) @def.field
(variable_declarator name: (identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.function
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(number) (string) (object) (array) (call_expression) (new_expression) (template_string)]) @def.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(number) (string) (object) (array) (call_expression) (new_expression) (template_string)]) @def.constant)))
(import_statement source: (_) @module) @import
(class_heritage (identifier) @ref.extends)
(call_expression function: (identifier) @ref.call)
(call_expression function: (member_expression property: (_) @ref.call))
(new_expression constructor: (identifier) @ref.call)
