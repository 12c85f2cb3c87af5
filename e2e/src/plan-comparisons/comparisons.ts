import { type Comparison, withLab } from "./comparison.ts";

const data = (name: string, input: string): string =>
  `resource "terraform_data" "${name}" {\n  input = ${input}\n}\n`;

const policy = (statements: readonly object[]): string =>
  `jsonencode(${JSON.stringify({ Version: "2012-10-17", Statement: statements })})`;

const statement = (sid: string, action: string, resource: string): object => ({
  Sid: sid,
  Effect: "Allow",
  Action: [action],
  Resource: resource,
});

const principals = (names: readonly string[]): string =>
  policy([{ Sid: "Assume", Effect: "Allow", Principal: { AWS: names }, Action: "sts:AssumeRole" }]);

const container = (name: string, image: string): object => ({
  name,
  image,
  env: [
    { name: "LEVEL", value: "info" },
    { name: "REGION", value: "eu-1" },
  ],
});

const manifest = (replicas: number, image: string): string => `<<-EOT
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: shop
    spec:
      replicas: ${replicas}
      template:
        spec:
          containers:
            - name: web
              image: ${image}
            - name: sidecar
              image: proxy:1.4
  EOT`;

const script = (line: string): string => `<<-EOT
    #!/bin/sh
    set -eu
    mount /dev/sdb /data
    ${line}
    systemctl enable app
    systemctl start app
  EOT`;

const rules = (ports: readonly number[]): string =>
  withLab(`resource "lab_object" "web" {
  name  = "web"
  rules = [${ports.map((port) => `{ port = ${port} }`).join(", ")}]
}
`);

const peers = (list: readonly (readonly [host: string, port: number])[]): string =>
  withLab(`resource "lab_object" "web" {
  name  = "web"
  peers = [${list.map(([host, port]) => `{ host = "${host}", port = ${port} }`).join(", ")}]
}
`);

/** Changes that reviews are about, the plain ones first. */
export const COMPARISONS: readonly Comparison[] = [
  {
    title: "The first plan of a stack",
    before: "",
    after: `${data("net", '{ cidr = "10.0.0.0/16", zones = ["a", "b"] }')}resource "random_id" "suffix" {
  byte_length = 4
}
resource "local_file" "note" {
  filename = "note.txt"
  content  = "by \${random_id.suffix.hex}"
}
`,
    reference: "Every attribute of every object, the unknown ones included.",
    ours: "The same.",
  },
  {
    title: "One attribute is updated in place",
    before: data("app", '{ image = "app:1.4.1", replicas = 3 }'),
    after: data("app", '{ image = "app:1.4.2", replicas = 3 }'),
    reference: "The changed member, with the number of those that stay.",
    ours: "The same.",
  },
  {
    title: "A replacement that a trigger asks for",
    before: `resource "terraform_data" "db" {
  input            = "16"
  triggers_replace = "v1"
}
`,
    after: `resource "terraform_data" "db" {
  input            = "16"
  triggers_replace = "v2"
}
`,
    reference:
      "Which attribute changes; that it forces the replacement is not marked for this type.",
    ours: "The attribute that forces the replacement, at its line and under the heading.",
  },
  {
    title: "A replacement that makes others unknown",
    before: `resource "random_id" "key" {
  byte_length = 4
}
${data("a", "random_id.key.hex")}${data("b", "terraform_data.a.output")}${data("c", "terraform_data.b.output")}`,
    after: `resource "random_id" "key" {
  byte_length = 8
}
${data("a", "random_id.key.hex")}${data("b", "terraform_data.a.output")}${data("c", "terraform_data.b.output")}`,
    reference:
      "Three updates with unknown values; that one replacement causes them, the reader has to infer.",
    ours: "The chain of causes stands with every change, back to the attribute that began it.",
  },
  {
    title: "Objects that the configuration lost",
    before: `${data("a", '"a"')}${data("b", '"b"')}`,
    after: data("a", '"a"'),
    reference: "Why it is destroyed, as a comment.",
    ours: "The same reason; what is destroyed comes before updates, as comparison 7 shows.",
  },
  {
    title: "One instance of several goes",
    before: `resource "terraform_data" "user" {
  for_each = toset(["ann", "bob", "eve"])
  input    = each.key
}
`,
    after: `resource "terraform_data" "user" {
  for_each = toset(["ann", "bob"])
  input    = each.key
}
`,
    reference: "The key that is gone.",
    ours: "The same.",
  },
  {
    title: "A list of instances gets shorter at its beginning",
    before: `resource "terraform_data" "user" {
  count = 3
  input = ["ann", "bob", "eve"][count.index]
}
`,
    after: `resource "terraform_data" "user" {
  count = 2
  input = ["bob", "eve"][count.index]
}
`,
    reference: "Two updates and a destroy.",
    ours: "The same; the destroy comes first.",
  },
  {
    title: "A resource gets another address",
    before: data("old", '"kept"'),
    after: `moved {
  from = terraform_data.old
  to   = terraform_data.new
}
${data("new", '"kept"')}`,
    reference: "A block for the move, with no change in it.",
    ours: "The same without attributes, and the move is counted in the summary.",
  },
  {
    title: "A resource gets another address and another value",
    before: data("old", '"one"'),
    after: `moved {
  from = terraform_data.old
  to   = terraform_data.new
}
${data("new", '"two"')}`,
    reference: "The former address as a comment.",
    ours: "The same, and the move is counted in the summary.",
  },
  {
    title: "An object is given up and stays where it is",
    before: data("kept", '"outside"'),
    after: `removed {
  from = terraform_data.kept
  lifecycle {
    destroy = false
  }
}
`,
    reference:
      "An action of its own, and a warning behind the plan; the summary does not count it.",
    ours: "The same action, counted in the summary.",
  },
  {
    title: "An object that exists is imported and changed",
    before: "",
    after: `import {
  to = terraform_data.known
  id = "known-1"
}
${data("known", '"adopted"')}`,
    reference: "An update with the id of the import.",
    ours: "The same.",
  },
  {
    title: "An object is tainted",
    before: data("odd", '"x"'),
    after: data("odd", '"x"'),
    taint: "terraform_data.odd",
    reference: "That it is tainted, as a comment.",
    ours: "The same, and what made it so.",
  },
  {
    title: "A replacement that creates first",
    before: `resource "terraform_data" "lb" {
  triggers_replace = "v1"
  lifecycle {
    create_before_destroy = true
  }
}
`,
    after: `resource "terraform_data" "lb" {
  triggers_replace = "v2"
  lifecycle {
    create_before_destroy = true
  }
}
`,
    reference: "The sign +/- in place of -/+. What forces the replacement is not marked.",
    ours: "The same sign, and which attribute forces the replacement.",
  },
  {
    title: "A replacement on request",
    before: data("vm", '"x"'),
    after: data("vm", '"x"'),
    options: ["-replace=terraform_data.vm"],
    reference: "That it was requested, as a comment.",
    ours: "The same, as the reason below the heading.",
  },
  {
    title: "Two statements of a policy change",
    before: data(
      "policy",
      policy([
        statement("ReadLogs", "s3:GetObject", "arn:aws:s3:::logs/*"),
        statement("WriteLogs", "s3:PutObject", "arn:aws:s3:::logs/*"),
        statement("List", "s3:ListBucket", "arn:aws:s3:::logs"),
      ]),
    ),
    after: data(
      "policy",
      policy([
        statement("ReadLogs", "s3:GetObject", "arn:aws:s3:::logs/2026/*"),
        statement("WriteLogs", "s3:PutObject", "arn:aws:s3:::logs/2026/*"),
        statement("List", "s3:ListBucket", "arn:aws:s3:::logs"),
      ]),
    ),
    reference:
      "Two changed elements by their position. Which statements they are is hidden with what stays.",
    ours: "Each changed statement with its Sid, effect and action; the one that stays is counted.",
  },
  {
    title: "A new statement in front of changed ones",
    before: data(
      "policy",
      policy([
        statement("A", "s3:GetObject", "arn:aws:s3:::a/*"),
        statement("B", "s3:PutObject", "arn:aws:s3:::b/*"),
      ]),
    ),
    after: data(
      "policy",
      policy([
        statement("New", "s3:DeleteObject", "arn:aws:s3:::n/*"),
        statement("A", "s3:GetObject", "arn:aws:s3:::a/2026/*"),
        statement("B", "s3:PutObject", "arn:aws:s3:::b/2026/*"),
      ]),
    ),
    reference:
      "By position: A becomes New, B becomes A, and B seems to be new. Nothing of that happens.",
    ours: "New is added, A and B get another resource.",
  },
  {
    title: "The order of principals changes and nothing else",
    before: data("trust", principals(["arn:aws:iam::1:root", "arn:aws:iam::2:root"])),
    after: data("trust", principals(["arn:aws:iam::2:root", "arn:aws:iam::1:root"])),
    reference: "One principal is removed and added again.",
    ours: "That the order alone changes; nothing is removed or added.",
  },
  {
    title: "A container in front of others, and a new image of one",
    before: data(
      "task",
      `jsonencode(${JSON.stringify([container("web", "web:1"), container("log", "log:1")])})`,
    ),
    after: data(
      "task",
      `jsonencode(${JSON.stringify([container("init", "init:1"), container("web", "web:2"), container("log", "log:1")])})`,
    ),
    reference: "By position: the containers seem to change their names.",
    ours: "By their names: one container more, one with another image.",
  },
  {
    title: "The formatting of a JSON text changes",
    before: data("doc", '"{\\"a\\":1,\\"b\\":[1,2]}"'),
    after: data("doc", '"{ \\"a\\": 1, \\"b\\": [1, 2] }"'),
    reference: "The document as it is, with a remark that whitespace changes.",
    ours: "That the formatting alone changes.",
  },
  {
    title: "A manifest in YAML",
    before: `resource "local_file" "web" {\n  filename = "web.yaml"\n  content  = ${manifest(2, "web:1.0")}\n}\n`,
    after: `resource "local_file" "web" {\n  filename = "web.yaml"\n  content  = ${manifest(4, "web:1.1")}\n}\n`,
    reference: "A replacement with all lines of the text.",
    ours: "The same without lines that are far from a change, and why it is replaced.",
  },
  {
    title: "One line of a script",
    before: data("boot", script("export LEVEL=info")),
    after: data("boot", script("export LEVEL=debug")),
    reference: "All lines of the text, with the removed and the added one.",
    ours: "The same.",
  },
  {
    title: "A sensitive value",
    before: data("login", 'sensitive("first-word")'),
    after: data("login", 'sensitive("second-word")'),
    reference:
      "That it changes, by the sign; the text of the value stands in the computed attribute that repeats it.",
    ours: "That it changes; where a computed attribute repeats it, it is hidden, too.",
  },
  {
    title: "A sensitive member beside others",
    before: withLab(`resource "lab_object" "vpn" {
  name    = "vpn"
  network = { cidr = "10.0.0.0/8", secret = "first-word" }
}
`),
    after: withLab(`resource "lab_object" "vpn" {
  name    = "vpn"
  network = { cidr = "10.1.0.0/16", secret = "second-word" }
}
`),
    reference: "The visible change, and that the sensitive member changes.",
    ours: "The same.",
  },
  {
    title: "Rules of a list: one more in front",
    before: rules([80, 443]),
    after: rules([22, 80, 443]),
    reference: "By position: two ports seem to change, and 443 to be added.",
    ours: "One rule is added, by its port.",
  },
  {
    title: "An element of a set changes",
    before: peers([
      ["db.example.com", 5432],
      ["cache.example.com", 6379],
    ]),
    after: peers([
      ["db.example.com", 6432],
      ["cache.example.com", 6379],
    ]),
    reference:
      "One element goes and another one comes; that they are the same peer has to be seen.",
    ours: "The same: two elements of a set are not paired by one equal member.",
  },
  {
    title: "A value of another type",
    before: data("size", "{ count = 1, names = [] }"),
    after: data("size", '{ count = "1", names = null }'),
    reference: "A change from 1 to 1 with quotes.",
    ours: "The same; a member that goes has its sign.",
  },
  {
    title: "Forty-eight instances that change alike",
    before: `resource "terraform_data" "worker" {
  count = 48
  input = { image = "ami-1", index = count.index }
}
`,
    after: `resource "terraform_data" "worker" {
  count = 48
  input = { image = "ami-2", index = count.index }
}
`,
    reference: "48 blocks.",
    ours: "One entry for 48 changes that are alike.",
  },
  {
    title: "Forty-eight instances of which one differs",
    before: `resource "terraform_data" "worker" {
  count = 48
  input = { image = "ami-1", index = count.index }
}
`,
    after: `resource "terraform_data" "worker" {
  count = 48
  input = { image = count.index == 31 ? "ami-9" : "ami-2", index = count.index }
}
`,
    reference: "48 blocks; the odd one is number 32.",
    ours: "One entry for 47, and the odd one apart.",
  },
  {
    title: "Only outputs change",
    before: 'output "url" {\n  value = "http://one.example.com"\n}\n',
    after: 'output "url" {\n  value = "https://one.example.com"\n}\n',
    reference: "The output, and that no object changes.",
    ours: "The same.",
  },
  {
    title: "An object was deleted elsewhere",
    before: 'resource "local_file" "note" {\n  filename = "note.txt"\n  content  = "kept"\n}\n',
    after: 'resource "local_file" "note" {\n  filename = "note.txt"\n  content  = "kept"\n}\n',
    drift: { "note.txt": null },
    reference: "A create, without a word about why: it takes a refresh-only plan to see it.",
    ours: "A create, and before it what was deleted outside.",
  },
  {
    title: "Everything is destroyed",
    before: `${data("a", '"a"')}${data("b", "terraform_data.a.output")}`,
    after: `${data("a", '"a"')}${data("b", "terraform_data.a.output")}`,
    options: ["-destroy"],
    reference: "All attributes of what goes.",
    ours: "The same.",
  },
  {
    title: "Nothing changes",
    before: data("a", '"a"'),
    after: data("a", '"a"'),
    reference: "One sentence.",
    ours: "One sentence.",
  },
  {
    title: "A check that fails",
    before: data("a", '"a"'),
    after: `${data("a", '"b"')}check "word" {
  assert {
    condition     = terraform_data.a.input == "a"
    error_message = "the word is not a"
  }
}
`,
    reference: "A warning behind the plan, with the condition and the values in it.",
    ours: "The message in one line, without the source of the condition.",
  },
  {
    title: "A text that attacks its reader",
    before: data("text", '"plain"'),
    after: data(
      "text",
      '"</details><script>alert(1)</script> @everyone #1 ``` \\u001b[31mred \\u202e gnirts"',
    ),
    reference: "Control characters and directions of writing are shown as their codes.",
    ours: "The same; in the comment neither markup nor mentions have an effect.",
  },
];
