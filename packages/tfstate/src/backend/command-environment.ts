/**
 * The environment of a user for a call of the reference command: without arguments that the user adds to each call
 * (`TF_CLI_ARGS`, `TF_CLI_ARGS_plan`, ...), and without questions.
 */
export function commandEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const plain = Object.entries(env).filter(([name]) => !/^TF_CLI_ARGS(?:_|$)/.test(name));
  return { ...Object.fromEntries(plain), TF_IN_AUTOMATION: "1", TF_INPUT: "0" };
}
