/** A configuration whose plan by the server is compared with that which the command makes itself. */
interface PlanTextCase {
  readonly name: string;
  /** What is applied before; absent: nothing. */
  readonly before?: string;
  /** What the object `a` of the provider has become behind its back. */
  readonly tamper?: object;
  /** Absent: the same as before. */
  readonly after?: string;
  readonly words?: readonly string[];
  /** What is known to differ; the rest is the same. */
  readonly differs?: readonly ("reads" | "diagnostics")[];
  /** A part of the plan that the case is about. */
  readonly shows: string;
}

const object = (label: string, more = "", name = label): string =>
  `resource "lab_object" "${label}" {\n  name = "${name}"\n  ${more}\n}\n`;
const data = (label: string, input: string, more = ""): string =>
  `resource "terraform_data" "${label}" {\n  input = ${input}\n  ${more}\n}\n`;
const failing = (kind: string): string =>
  data(
    "a",
    '"x"',
    `lifecycle {\n    ${kind} {\n      condition     = var.v == 2\n      error_message = "v must be 2."\n    }\n  }`,
  );
const check = (condition: string, more = ""): string =>
  `check "c" {\n  ${more}\n  assert {\n    condition     = ${condition}\n    error_message = "It is not so."\n  }\n}\n`;
const nested = (cidr: string, role: string, port: number): string =>
  object(
    "a",
    `network = { cidr = "${cidr}" }
  rules   = [{ port = 1 }, { port = ${port} }, { port = 4 }]
  peers   = [{ host = "x", port = ${port} }, { host = "y" }]
  members = { first = { role = "${role}" }, ${role} = { role = "other" } }
  labels  = ["l", "${role}"]
  payload = { number = ${port}, list = [1, ${port}] }`,
  );
const replaced = "lifecycle { replace_triggered_by = [terraform_data.t] }";
const created = "lifecycle { create_before_destroy = true }";

export const PLAN_TEXT_CASES: readonly PlanTextCase[] = [
  {
    name: "creates with nested blocks, ephemeral objects and reads at apply for each reason",
    after: `${data("a", '"x"')}
ephemeral "lab_lease" "l" { name = "n" }
${object("a", "password = ephemeral.lab_lease.l.secret\n  password_version = 1")}
resource "tls_self_signed_cert" "c" {
  private_key_pem       = terraform_data.a.output
  validity_period_hours = 12
  allowed_uses          = ["server_auth"]
  subject {
    common_name  = "a"
    organization = "b"
  }
}
data "lab_objects" "unknown" { prefix = terraform_data.a.id }
data "lab_objects" "behind" {
  prefix     = "none"
  depends_on = [lab_object.a]
}
output "objects" { value = data.lab_objects.unknown.objects }
`,
    shows: "depends on a resource or a module with changes pending",
  },
  {
    name: "replacements for each reason",
    before: `${object("a")}${object("asked")}${data("t", '"x"')}${object("triggered", replaced)}${object("first", created)}`,
    after: `${object("a", "", "b")}${object("asked")}${data("t", '"y"')}${object("triggered", replaced)}${object("first", created, "second")}`,
    words: ["-replace=lab_object.asked"],
    shows: "will be replaced, as requested",
  },
  {
    name: "deletes for each reason",
    before: `${object("gone")}${object("counted", "count = 3")}${object("each", 'for_each = toset(["x", "y"])')}${object("other", "count = 1")}`,
    after: `${object("counted", "count = 1")}${object("each", 'for_each = toset(["x"])')}${object("other", 'for_each = toset(["x"])')}`,
    shows: 'because key ["y"] is not in for_each map',
  },
  {
    name: "moved objects",
    before: object("a") + object("c"),
    after: `${object("b", "", "a")}${object("d", "size = 2", "c")}
moved {
  from = lab_object.a
  to   = lab_object.b
}
moved {
  from = lab_object.c
  to   = lab_object.d
}
`,
    shows: "lab_object.a has moved to lab_object.b",
  },
  {
    name: "objects that are no longer managed",
    before: object("a") + object("b"),
    after: `removed {
  from = lab_object.a
  lifecycle { destroy = false }
}
removed {
  from = lab_object.b
  lifecycle { destroy = true }
}
`,
    differs: ["reads", "diagnostics"],
    shows: "will no longer be managed by Terraform",
  },
  {
    name: "imports",
    after: `import {
  to = random_string.a
  id = "abcdefgh"
}
import {
  to = random_string.b
  id = "ABCDEFGH"
}
resource "random_string" "a" { length = 8 }
resource "random_string" "b" {
  length  = 8
  special = false
}
`,
    differs: ["reads"],
    shows: "this will destroy the imported resource",
  },
  {
    name: "outputs that change",
    before: `output "a" { value = 1 }\noutput "b" { value = { x = 1, y = [1, 2] } }\noutput "gone" { value = "g" }\n`,
    after: `output "a" { value = 2 }\noutput "b" { value = { x = 2, y = [1, 3, 4] } }\noutput "new" { value = "n" }\n`,
    shows: '- gone = "g" -> null',
  },
  {
    name: "nested values and texts of several lines that change",
    before:
      nested("10.0.0.0/8", "one", 2) +
      data("t", '"1\\n2\\n3\\n"') +
      data("j", "jsonencode({ x = 1, y = [1] })"),
    after:
      nested("10.0.0.0/9", "two", 3) +
      data("t", '"1\\n4\\n3\\n"') +
      data("j", "jsonencode({ x = 2, y = [1, 2] })"),
    shows: "~ role   =",
  },
  {
    name: "changes outside that matter",
    before: object("a") + data("x", "lab_object.a.revision"),
    tamper: { revision: 9 },
    shows: "Objects have changed outside of Terraform",
  },
  {
    name: "changes outside that do not matter",
    before: object("a"),
    tamper: { revision: 9 },
    shows: "No changes.",
  },
  {
    name: "changes outside that are undone",
    before: object("a"),
    tamper: { size: 9 },
    shows: "will be updated in-place",
  },
  {
    name: "changes outside, refreshed alone",
    before: object("a"),
    tamper: { revision: 9 },
    words: ["-refresh-only"],
    shows: "This is a refresh-only plan",
  },
  {
    name: "no changes outside, refreshed alone",
    before: object("a"),
    words: ["-refresh-only"],
    shows: "No changes. Your infrastructure still matches the configuration.",
  },
  {
    name: "no changes without a read",
    before: object("a"),
    words: ["-refresh=false"],
    shows: "No changes.",
  },
  {
    name: "a part of the configuration",
    before: object("a") + object("b"),
    after: object("a", "size = 2") + object("b", "size = 2"),
    words: ["-target=lab_object.a"],
    differs: ["diagnostics"],
    shows: "Plan: 0 to add, 1 to change, 0 to destroy.",
  },
  {
    name: "the destruction of all",
    before: `${object("a")}${data("b", "1")}output "o" { value = lab_object.a.name }\n`,
    words: ["-destroy"],
    shows: '- o = "a" -> null',
  },
  { name: "nothing", after: "", shows: "No changes." },
  {
    name: "a check that fails",
    after: data("a", '"x"') + check('terraform_data.a.input == "y"'),
    shows: "terraform_data.a will be created",
  },
  {
    name: "a check with a data source",
    after:
      data("a", '"x"') +
      check("length(data.lab_objects.d.objects) == 1", 'data "lab_objects" "d" { prefix = "z" }'),
    differs: ["diagnostics"],
    shows: "terraform_data.a will be created",
  },
  {
    name: "a check of what is not known",
    after: data("a", '"x"') + check('terraform_data.a.id == "y"'),
    differs: ["diagnostics"],
    shows: "terraform_data.a will be created",
  },
  {
    name: "a precondition that fails",
    after: `variable "v" { default = 1 }\n${failing("precondition")}`,
    differs: ["diagnostics"],
    shows: "Planning failed.",
  },
  {
    name: "a variable that is not valid",
    after: `variable "v" {\n  default = 1\n  validation {\n    condition     = var.v == 2\n    error_message = "v must be 2."\n  }\n}\n`,
    differs: ["diagnostics"],
    shows: "Planning failed.",
  },
  {
    name: "arguments that are deprecated",
    after: `resource "random_password" "p" {\n  count  = 2\n  length = 8\n  number = false\n}\n`,
    differs: ["diagnostics"],
    shows: "random_password.p[1] will be created",
  },
];
