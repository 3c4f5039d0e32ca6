(function name: [(variable) @name (prefix_id (_) @name)] [match: (_) @body binds: (_) @body]) @def.function
(function (infix operator: [(operator) @name (infix_id (_) @name)]) [match: (_) @body binds: (_) @body]) @def.function
(declarations (bind name: [(variable) @name (prefix_id (_) @name)] [match: (_) @body binds: (_) @body]) @def.function)
(class_declarations (bind name: [(variable) @name (prefix_id (_) @name)] [match: (_) @body binds: (_) @body]) @def.function)
(instance_declarations (bind name: [(variable) @name (prefix_id (_) @name)] [match: (_) @body binds: (_) @body]) @def.function)
(signature name: [(variable) @name (prefix_id (_) @name)]) @def.function
(signature names: (binding_list [(variable) @name (prefix_id (_) @name)])) @def.function
(data_type name: (_) @name) @def.enum
(newtype name: (_) @name) @def.struct
(class name: (_) @name) @def.interface
(instance patterns: (type_patterns) @name) @def.impl
(type_synonym name: (_) @name) @def.type
(field name: (field_name) @name) @def.field
(haddock) @comment
(import module: (_) @module) @import
(apply function: (variable) @ref.call)
