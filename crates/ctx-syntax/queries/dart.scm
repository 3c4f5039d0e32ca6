(class_declaration name: (_) @name) @def.class
(class_declaration (mixin_application_class . (identifier) @name)) @def.class
(mixin_declaration name: (_) @name) @def.class
(enum_declaration name: (_) @name) @def.enum
(extension_declaration name: (_) @name) @def.class
(extension_type_declaration name: (_) @name) @def.class
(enum_entry name: (_) @name) @def.field
(type_alias (type_identifier) @name) @def.type
(top_level_variable_declaration [(static_final_declaration_list (static_final_declaration name: (_) @name)) (initialized_identifier_list (initialized_identifier name: (_) @name))]) @def.constant
(getter_declaration signature: (getter_signature name: (_) @name) body: (_) @body) @def.function
(setter_declaration signature: (setter_signature name: (_) @name) body: (_) @body) @def.function
(external_function_declaration signature: (function_signature name: (_) @name)) @def.function
(function_declaration signature: (function_signature name: (_) @name) body: (_) @body) @def.function
(method_declaration signature: (method_signature (function_signature name: (_) @name)) body: (_) @body) @def.method
(method_declaration signature: (method_signature [(getter_signature name: (_) @name) (setter_signature name: (_) @name) (operator_signature operator: (_) @name)]) body: (_) @body) @def.method
(method_declaration signature: (method_signature [(constructor_signature name: (identifier) @name .) (constructor_signature name: (identifier) @name . (formal_parameter_list)) (factory_constructor_signature name: (identifier) @name . (formal_parameter_list))]) body: (_) @body) @def.method
(member_declaration (declaration [(function_signature name: (_) @name) (getter_signature name: (_) @name) (setter_signature name: (_) @name) (operator_signature operator: (_) @name)])) @def.method
(member_declaration (declaration [(constructor_signature name: (identifier) @name . (formal_parameter_list)) (constant_constructor_signature name: (identifier) @name . (formal_parameter_list)) (redirecting_factory_constructor_signature name: (identifier) @name . (formal_parameter_list))])) @def.method
(member_declaration (declaration [(static_final_declaration_list (static_final_declaration name: (_) @name)) (initialized_identifier_list (initialized_identifier name: (_) @name))])) @def.field
(import_specification uri: (_) @module) @import
(superclass type: (type (type_identifier) @ref.extends))
(call_expression function: (identifier) @ref.call)
