(class name: (_) @name) @def.class
(module name: (_) @name) @def.module
(method name: (_) @name body: (_)? @body) @def.method
(singleton_method name: (_) @name body: (_)? @body) @def.method
(assignment left: (constant) @name) @def.constant
(assignment left: (left_assignment_list (constant) @name)) @def.constant
(call method: (identifier) @_word arguments: (argument_list (string) @module) (#any-of? @_word "require" "require_relative" "load")) @import
(superclass (constant) @ref.extends)
(call method: (identifier) @ref.call)
