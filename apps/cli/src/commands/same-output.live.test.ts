import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;

interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** Two equal folders; each command works in its own. */
async function pair(files: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "same-output-"));
  onTestFinished(() => scratch.remove());
  const folders = { theirs: join(scratch.path, "theirs"), ours: join(scratch.path, "ours") };
  for (const folder of Object.values(folders)) {
    await mkdir(join(folder, ".git"), { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  }
  const env = { PATH: process.env["PATH"], HOME: scratch.path, CHECKPOINT_DISABLE: "1" };
  const theirs = async (words: readonly string[], input = ""): Promise<Outcome> =>
    new Promise((resolve) => {
      const options = { cwd: folders.theirs, env, timeout: 60_000 };
      const child = execFile(COMMAND, [...words], options, (error, stdout) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, output: stdout });
      });
      child.stdin?.end(input);
    });
  const ours = async (words: readonly string[], input = ""): Promise<Outcome> => {
    const { code, output } = await tryCommand(words, { cwd: folders.ours, env, input });
    return { code, output };
  };
  return { ...folders, run: { theirs, ours } };
}

/** Text of many forms that the standard layout changes. */
const UGLY: Readonly<Record<string, string>> = {
  "alignment.tf": 'locals {\n  a=1\n  bbb   = "x"\n\n  cc = [1,2 , 3]\n}\n',
  "blocks.tf":
    'resource "terraform_data" "a" {\ninput = 1\n   lifecycle {\nprevent_destroy=false\n}\n}\n',
  "comments.tf": "# one\nlocals { # two\n  a = 1 // three\n  /* four */ b = 2\n}\n",
  "conditional.tf": "locals {\n  a = true?1:2\n  b = (  1+2 )*3\n}\n",
  "empty.tf": "",
  "for.tf": "locals {\n  a = [for x in [1,2]:x if x>1]\n  b = {for k,v in {a=1}:k=>v...}\n}\n",
  "functions.tf": 'locals {\n  a = join( ",",["a"  ,"b"] )\n  b = merge({a=1},\n{b=2})\n}\n',
  "heredoc.tf":
    "locals {\n  a = <<EOT\n  text   stays\nEOT\n  b   = <<-EOT\n    text\n    EOT\n}\n",
  "index.tf": "locals {\n  a = local.b [0]\n  b = local.c . d\n  c = local.d[ * ].e\n}\n",
  "lists.tf": 'locals {\n  a = [\n"x",\n    "y"\n  ]\n}\n',
  "maps.tf": 'locals {\n  a = {\n    one = 1\n    "three" : 3\n    twenty   =   20\n  }\n}\n',
  "modules.tf": 'module "m" {\n  source="./m"\n  providers={\n a=b\n  }\n}\n',
  "nested.tf": "locals {\n      a = {\n b = {\n c = {\n d = 1\n}\n}\n}\n}\n",
  "nice.tf": "locals {\n  a = 1\n}\n",
  "operators.tf": "locals {\n  a = !true&&false||1==2\n  b = -  1\n  c = 1 % 2\n}\n",
  "strings.tf":
    'locals {\n  a = "${  local.b }"\n  b = "%{if true}x%{ endif }"\n  c = "${local.d}"\n}\n',
  "tabs.tf": "locals {\n\ta = 1\n\t\tb = 2\n}\n",
  "types.tf": 'variable "v" {\n  type=object({a=string,\n  b = optional(  number,1)})\n}\n',
  "values.tfvars": "a=1\nlonger = [1,\n2]\n",
  "tests/one.tftest.hcl":
    'run "a" {\ncommand=plan\nassert {\ncondition=true\nerror_message="x"\n}\n}\n',
};

describe("what the real command writes is written here", { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  });

  it("by fmt for files of every form, with its exit codes", async () => {
    const { theirs, ours, run } = await pair(UGLY);
    for (const words of [
      ["fmt", "-check", "-list=false"],
      ["fmt", "-check", "-recursive", "-write=false"],
      ["fmt", "-check", "nice.tf"],
      ["fmt", "-recursive"],
      ["fmt", "-check", "-recursive"],
    ]) {
      const expected = await run.theirs(words);
      const found = await run.ours(words);
      const sorted = ({ code, output }: Outcome) => ({
        code,
        files: output.split("\n").toSorted(),
      });
      expect(sorted(found), words.join(" ")).toEqual(sorted(expected));
    }
    const written = (await readdir(theirs, { recursive: true })).filter((name) => name in UGLY);
    expect(written.length).toBe(Object.keys(UGLY).length);
    for (const name of written) {
      const expected = await readFile(join(theirs, name), "utf8");
      expect(await readFile(join(ours, name), "utf8"), name).toBe(expected);
    }
    for (const text of [UGLY["maps.tf"], UGLY["heredoc.tf"], UGLY["nice.tf"], "locals {"]) {
      const expected = await run.theirs(["fmt", "-"], text);
      expect(await run.ours(["fmt", "-"], text)).toEqual(expected);
    }
  });

  it("by graph, metadata functions and providers schema, in its structure", async () => {
    const { run } = await pair({
      "main.tf": `
resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" { input = terraform_data.a.output }
output "o" { value = terraform_data.b.output }
`,
    });
    expect((await run.theirs(["init", "-no-color"])).code).toBe(0);
    const edges = ({ output }: Outcome) =>
      [...output.matchAll(/"(\S+)" -> "(\S+)"/g)].map(([, from, to]) => [from, to]);
    const graph = edges(await run.theirs(["graph"]));
    expect(graph).toEqual([["terraform_data.b", "terraform_data.a"]]);
    expect(edges(await run.ours(["graph"]))).toEqual(graph);

    const json = async (side: keyof typeof run, ...words: readonly string[]) =>
      JSON.parse((await run[side]([...words, "-json"])).output) as Record<string, object>;
    const functions = await json("theirs", "metadata", "functions");
    const known = await json("ours", "metadata", "functions");
    expect(Object.keys(known)).toEqual(Object.keys(functions));
    const names = Object.keys(functions["function_signatures"] ?? {});
    expect(names.length).toBeGreaterThan(200);
    expect(Object.keys(known["function_signatures"] ?? {})).toEqual(expect.arrayContaining(names));

    const schemas = await json("theirs", "providers", "schema");
    // Descriptions are written in other words; ours has the empty schema of the configuration as well.
    const structure = JSON.parse(
      JSON.stringify(schemas, (key, value: unknown) =>
        /^(?:description|summary)$/.test(key) ? undefined : value,
      ),
    ) as object;
    expect(await json("ours", "providers", "schema")).toMatchObject(structure);
  });
});

describe("the data folder", { timeout: 120_000 }, () => {
  beforeEach((context) => context.skip(!hasCommand, "there is no terraform command"));

  it("has the selected workspace where the real command looks for it, in either direction", async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "data-folder-"));
    onTestFinished(() => scratch.remove());
    await writeFile(join(scratch.path, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const cwd = scratch.path;
    const env = {
      PATH: process.env["PATH"],
      HOME: cwd,
      CHECKPOINT_DISABLE: "1",
      TF_DATA_DIR: ".d",
    };
    const theirs = async (...words: readonly string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        execFile(COMMAND, [...words], { cwd, env, timeout: 60_000 }, (error, stdout) => {
          if (error === null) resolve(stdout);
          else reject(error);
        });
      });
    const ours = async (...words: readonly string[]) => tryCommand(words, { cwd, env });
    expect(await ours("workspace", "new", "z")).toMatchObject({ code: 0 });
    expect(await theirs("workspace", "show")).toBe("z\n");
    await theirs("workspace", "new", "y");
    expect((await ours("workspace", "show")).output).toBe("y\n");
  });
});
