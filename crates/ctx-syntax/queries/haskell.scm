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
(data_constructor [(prefix name: (_) @name @def.field) (record name: (_) @name @def.field) (infix operator: (_) @name @def.field)])
(gadt_constructor name: (_) @name @def.field)
(newtype_constructor name: (_) @name @def.field)
(type_family name: (_) @name) @def.type
(data_family name: (_) @name) @def.type
(pattern_synonym (equation synonym: [(constructor) @name (apply function: (constructor) @name)])) @def.function
(declarations (bind pattern: (tuple element: (variable) @name)) @def.constant)
(field name: (field_name) @name) @def.field
(haddock) @comment
(import module: (_) @module) @import
(apply function: (variable) @ref.call)
