/** What stands for the parameters of paths: the project and the stack of the tests, otherwise things that need not be there. */
const VALUES: Readonly<Record<string, string>> = {
  project: "web",
  stack: "one",
  category: "terraform",
  key: "word",
  set: "shared",
  host: "registry.example.com",
  type: "null",
  namespace: "acme",
  name: "net",
  system: "aws",
  version: "1",
  connection: "infra",
  webhook: "siem",
  destination: "ops",
  delivery: "01J9ZC0000000000000000SEND",
  pull_request: "1",
  account: "acme",
  user: "bot",
  team: "ops",
  kind: "user",
  subject: "bot",
  token: "token-0123456789ab",
  plan_set: "01J9ZC0000000000000000SET1",
  policy_set: "security",
  session: "session-0123456789ab",
};

/** A path of the document with a value for each of its parameters. */
export function filledPath(template: string, own: Readonly<Record<string, string>> = {}): string {
  return template.replaceAll(
    /\{([a-z_]+|\*)\}/g,
    (_, key: string) => own[key] ?? VALUES[key] ?? "x",
  );
}
