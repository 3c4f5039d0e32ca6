(function_definition name: (_) @name body: (_) @body) @def.function
(program (variable_assignment name: (variable_name) @name) @def.constant)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @def.constant)
(program (if_statement [(variable_assignment name: (variable_name) @name) @def.constant (declaration_command (variable_assignment name: (variable_name) @name)) @def.constant]))
(program (if_statement (else_clause [(variable_assignment name: (variable_name) @name) @def.constant (declaration_command (variable_assignment name: (variable_name) @name)) @def.constant])))
(command name: (command_name (word) @_word) argument: (concatenation . (word) @symbol) (#eq? @_word "alias")) @def.constant
(command name: (command_name (word) @ref.call))
