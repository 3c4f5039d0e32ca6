(value_definition (let_binding pattern: (value_name) @name)) @def.function
(module_definition (module_binding (module_name) @name)) @def.module
(type_definition (type_binding name: (_) @name)) @def.type
(class_definition (class_binding name: (_) @name)) @def.class
(method_definition name: (_) @name) @def.method
(external (value_name) @name) @def.function
(exception_definition (constructor_declaration (constructor_name) @name)) @def.type
(open_module module: (_) @module) @import
(application_expression function: (value_path (value_name) @ref.call))
