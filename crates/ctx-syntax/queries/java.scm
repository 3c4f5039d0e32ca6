(class_declaration name: (_) @name) @def.class
(record_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(annotation_type_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(method_declaration name: (_) @name body: (_)? @body) @def.method
(constructor_declaration name: (_) @name body: (_) @body) @def.method
(compact_constructor_declaration name: (_) @name body: (_) @body) @def.method
(annotation_type_element_declaration name: (_) @name) @def.method
(module_declaration name: (_) @name) @def.module
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @def.field))
(constant_declaration declarator: (variable_declarator name: (_) @name)) @def.constant
(field_declaration declarator: (variable_declarator name: (_) @name)) @def.field
(enum_constant name: (_) @name) @def.field
(import_declaration (_) @module) @import
(superclass (type_identifier) @ref.extends)
(super_interfaces (type_list (type_identifier) @ref.extends))
(method_invocation name: (_) @ref.call)
(object_creation_expression type: (type_identifier) @ref.call)
(type_identifier) @ref.type
