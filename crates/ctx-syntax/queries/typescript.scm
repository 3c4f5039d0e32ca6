(function_declaration name: (_) @name body: (_) @body) @def.function
(generator_function_declaration name: (_) @name body: (_) @body) @def.function
(function_signature name: (_) @name) @def.function
(class_declaration name: (_) @name) @def.class
(abstract_class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(type_alias_declaration name: (_) @name) @def.type
(internal_module name: (_) @name) @def.module
(method_definition name: (_) @name body: (_) @body) @def.method
(method_signature name: (_) @name) @def.method
(abstract_method_signature name: (_) @name) @def.method
(public_field_definition name: (_) @name) @def.field
(property_signature name: (_) @name) @def.field
(variable_declarator name: (identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.function
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(number) (string) (object) (array) (call_expression) (new_expression) (template_string)]) @def.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(number) (string) (object) (array) (call_expression) (new_expression) (template_string)]) @def.constant)))
(import_statement source: (_) @module) @import
(extends_clause value: (identifier) @ref.extends)
(implements_clause (type_identifier) @ref.extends)
(extends_type_clause type: (type_identifier) @ref.extends)
(call_expression function: (identifier) @ref.call)
(call_expression function: (member_expression property: (_) @ref.call))
(new_expression constructor: (identifier) @ref.call)
(type_identifier) @ref.type
