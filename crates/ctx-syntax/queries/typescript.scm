(function_declaration name: (_) @name body: (_) @body) @def.function
(generator_function_declaration name: (_) @name body: (_) @body) @def.function
(function_signature name: (_) @name) @def.function
(class_declaration name: (_) @name) @def.class
(abstract_class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(enum_body (property_identifier) @name @def.field)
(enum_assignment name: (_) @name) @def.field
(type_alias_declaration name: (_) @name) @def.type
(internal_module name: (_) @name) @def.module
(module name: (_) @name) @def.module
(method_definition name: (_) @name body: (_) @body) @def.method
(method_signature name: (_) @name) @def.method
(abstract_method_signature name: (_) @name) @def.method
(public_field_definition name: (_) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.method
(public_field_definition name: (_) @name) @def.field
(property_signature name: (_) @name) @def.field
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def.field
(variable_declarator name: (identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function
; Of the whole file: what is no function is a constant, whatever its value.
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @def.function))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @def.function)))
(program [(lexical_declaration (variable_declarator name: (identifier) @name value: (class)) @def.class) (variable_declaration (variable_declarator name: (identifier) @name value: (class)) @def.class)])
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (class)) @def.class)))
(program [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)])
(program (export_statement [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)]))
(program (export_statement (lexical_declaration (variable_declarator name: [(object_pattern [(shorthand_property_identifier_pattern) @name (pair_pattern value: (identifier) @name) (object_assignment_pattern left: (_) @name)]) (array_pattern (identifier) @name)]) @def.constant)))
; Of a namespace, and what is declared for what is elsewhere.
(internal_module (statement_block [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)]))
(internal_module (statement_block (export_statement [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)])))
(module (statement_block [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)]))
(module (statement_block (export_statement [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)])))
(ambient_declaration [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)])
(ambient_declaration (statement_block [(lexical_declaration (variable_declarator name: (identifier) @name) @def.constant) (variable_declaration (variable_declarator name: (identifier) @name) @def.constant)]))
; What a module of CommonJS is, and what is assigned to a member of it.
(program (expression_statement (assignment_expression left: (_) @_word right: [(function_expression name: (_) @name body: (_) @body) (generator_function name: (_) @name body: (_) @body) (assignment_expression right: (function_expression name: (_) @name body: (_) @body))]) @def.function) (#any-of? @_word "exports" "module.exports"))
(program (expression_statement (assignment_expression left: (_) @_word right: [(class name: (_) @name) (assignment_expression right: (class name: (_) @name))]) @def.class) (#any-of? @_word "exports" "module.exports"))
(program (expression_statement (assignment_expression left: (member_expression object: (_) @_word property: (property_identifier) @name) right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.function) (#any-of? @_word "exports" "module.exports"))
(program (expression_statement (assignment_expression left: (member_expression object: [(identifier) @within (member_expression object: (identifier) @within)] property: (property_identifier) @name) right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.function) (#not-eq? @name "exports") (#not-eq? @within "exports"))
(program (expression_statement (assignment_expression left: (member_expression object: (_) @_word property: (property_identifier) @name)) @def.constant) (#any-of? @_word "exports" "module.exports"))
; Functions of an object of the whole file.
(program (lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.method))))
(program (export_statement [(lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.method))) (object (pair key: (property_identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.method)]))
(program (expression_statement (assignment_expression right: (object (pair key: (property_identifier) @name value: [(arrow_function body: (statement_block) @body) (function_expression body: (_) @body)]) @def.method))))
; Tests and suites of them, as runners call them, by their titles.
(call_expression function: [(identifier) @_word (member_expression object: (identifier) @_word property: (_) @_key) (member_expression object: (member_expression object: (identifier) @_word property: (_) @_key) property: (_) @_key) (call_expression function: (member_expression object: [(identifier) @_word (member_expression object: (identifier) @_word property: (_) @_key)] property: (_) @_key))] arguments: (arguments . [(string) (template_string)] @title [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body) (call_expression arguments: (arguments [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))]) (#any-of? @_word "it" "test" "specify" "fit" "xit" "xtest" "xspecify") (#any-of? @_key "concurrent" "each" "fail" "failing" "fails" "fixme" "for" "if" "only" "runIf" "sequential" "serial" "skip" "skipIf" "slow" "todo")) @def.function
(call_expression function: (member_expression object: (identifier) @_key property: (_) @_word) arguments: (arguments . [(string) (template_string)] @title [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) (#any-of? @_key "Deno" "QUnit" "t") (#eq? @_word "test")) @def.function
(call_expression function: [(identifier) @_word (member_expression object: (identifier) @_word property: (_) @_key) (member_expression object: (member_expression object: (identifier) @_word property: (_) @_key) property: (_) @_key) (call_expression function: (member_expression object: [(identifier) @_word (member_expression object: (identifier) @_word property: (_) @_key)] property: (_) @_key))] arguments: (arguments . [(string) (template_string) (identifier) (member_expression)] @title [(arrow_function) (function_expression)]) (#any-of? @_word "describe" "context" "suite" "fdescribe" "xdescribe" "xcontext") (#any-of? @_key "concurrent" "each" "for" "if" "only" "parallel" "runIf" "sequential" "serial" "shuffle" "skip" "skipIf" "todo")) @def.module
(call_expression function: [(member_expression object: (identifier) @_key property: (_) @_word) (member_expression object: (member_expression object: (identifier) @_key property: (_) @_word))] arguments: (arguments . [(string) (template_string)] @title [(arrow_function) (function_expression)]) (#any-of? @_key "QUnit" "test") (#any-of? @_word "describe" "module")) @def.module
(import_statement source: (_) @module) @import
(extends_clause value: (identifier) @ref.extends)
(implements_clause (type_identifier) @ref.extends)
(extends_type_clause type: (type_identifier) @ref.extends)
(call_expression function: (identifier) @ref.call)
(call_expression function: (member_expression property: (_) @ref.call))
(new_expression constructor: (identifier) @ref.call)
(type_identifier) @ref.type
