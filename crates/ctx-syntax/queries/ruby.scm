(class name: (_) @qualified) @def.class
(module name: (_) @qualified) @def.module
(method name: (_) @name body: (_)? @body) @def.method
(singleton_method name: (_) @name body: (_)? @body) @def.method
(assignment left: (constant) @name) @def.constant
(assignment left: (left_assignment_list (constant) @name)) @def.constant
(assignment left: (scope_resolution scope: (_) @within name: (constant) @name)) @def.constant
(operator_assignment left: (constant) @name) @def.constant
(program (assignment left: (global_variable) @name) @def.constant)
(class (body_statement (assignment left: [(class_variable) (instance_variable)] @name) @def.field))
(module (body_statement (assignment left: [(class_variable) (instance_variable)] @name) @def.field))
; What well-known calls declare.
(call method: (identifier) @_word arguments: (argument_list [(simple_symbol) @symbol (string (string_content) @name)]) (#any-of? @_word "attr_accessor" "attr_reader" "attr_writer" "cattr_accessor" "mattr_accessor" "class_attribute")) @def.field
(call method: (identifier) @_word arguments: (argument_list . (simple_symbol) @symbol) (#any-of? @_word "has_many" "has_one" "belongs_to" "has_and_belongs_to_many" "scope" "enum")) @def.field
(call method: (identifier) @_word arguments: (argument_list . [(simple_symbol) @symbol (string (string_content) @name)]) (#any-of? @_word "define_method" "define_singleton_method" "alias_method")) @def.method
(call method: (identifier) @_word arguments: (argument_list . [(simple_symbol) @symbol (string (string_content) @name) (pair key: (_) @symbol)]) block: (_) @body (#any-of? @_word "task" "rule")) @def.function
(alias name: (_) @name) @def.method
(call method: (identifier) @_word arguments: (argument_list (string) @module) (#any-of? @_word "require" "require_relative" "load")) @import
(superclass (constant) @ref.extends)
(call method: (identifier) @ref.call)
