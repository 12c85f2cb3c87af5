/** The commands that use a server as its clients, with where they are: what cannot be run is left out by their tests, with that as the reason. */
export const CLIENT_COMMANDS = [
  ["terraform", process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform"],
  ["tofu", process.env["TEST_TOOL_OPENTOFU"] ?? "tofu"],
] as const;
