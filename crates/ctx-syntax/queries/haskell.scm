(function name: (_) @name [match: (_) @body binds: (_) @body]) @def.function
(function (infix operator: (_) @name) [match: (_) @body binds: (_) @body]) @def.function
(declarations (bind name: (_) @name [match: (_) @body binds: (_) @body]) @def.function)
(class_declarations (bind name: (_) @name [match: (_) @body binds: (_) @body]) @def.function)
(instance_declarations (bind name: (_) @name [match: (_) @body binds: (_) @body]) @def.function)
(signature name: (_) @name) @def.function
(data_type name: (_) @name) @def.enum
(newtype name: (_) @name) @def.struct
(class name: (_) @name) @def.interface
(instance patterns: (type_patterns) @name) @def.impl
(type_synonym name: (_) @name) @def.type
(field name: (field_name) @name) @def.field
(haddock) @comment
(import module: (_) @module) @import
(apply function: (variable) @ref.call)
