(function_definition name: (_) @name body: (_) @body) @def.function
(program (variable_assignment name: (_) @name) @def.constant)
(program (declaration_command (variable_assignment name: (_) @name)) @def.constant)
(command name: (command_name (word) @ref.call))
