(class_declaration name: (_) @name) @def.class
(mixin_declaration name: (_) @name) @def.class
(enum_declaration name: (_) @name) @def.enum
(extension_declaration name: (_) @name) @def.class
(function_declaration signature: (function_signature name: (_) @name) body: (_) @body) @def.function
(method_declaration signature: (method_signature (function_signature name: (_) @name)) body: (_) @body) @def.method
(method_declaration signature: (method_signature (constructor_signature name: (_) @name)) body: (_) @body) @def.method
(import_specification uri: (_) @module) @import
(superclass type: (type (type_identifier) @ref.extends))
(call_expression function: (identifier) @ref.call)
