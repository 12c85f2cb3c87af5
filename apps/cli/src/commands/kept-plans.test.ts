import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const CANARY = "canary-71fe-hidden-word";
const PASSING = "canary-5a02-passing-word";

const MAIN = `
variable "word" { default = "hello" }
variable "secret" { sensitive = true }
variable "passing" { ephemeral = true }
variable "again" {}
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" { input = { open = "shown", hidden = var.secret } }
resource "terraform_data" "c" { input = "it repeats \${nonsensitive(sha1(var.secret))} and \${var.again}" }
`;

interface ShownRun {
  readonly id: string;
  readonly phase: string;
}

/** A server whose store a command uses, as the user who looks at its runs. */
async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "kept-plans-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "main.tf"), MAIN);
  const { server, token } = await startServer("none", { storagePort: 0 });
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_PROJECT: "web",
    STACKWRIGHT_STACK: "one",
    TF_VAR_secret: CANARY,
    TF_VAR_passing: PASSING,
    // What a provider would do with a value that no plan keeps.
    TF_VAR_again: `a ${PASSING}`,
  };
  const stackwright = async (...words: readonly string[]) => tryCommand(words, { cwd, env });
  const store = server.storageAddress ?? "";
  const onStore = async (...words: readonly string[]) => {
    const result = await stackwright(...words, "--store", store);
    expect(result, result.output + result.error).toMatchObject({ code: 0, error: "" });
    return result;
  };
  const get = async (path: string) => {
    const answer = await fetch(`${server.url}/api/v1/projects/web/stacks/one/runs${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, text: await answer.text() };
  };
  const runs = async () => (JSON.parse((await get("?limit=50")).text) as { runs: ShownRun[] }).runs;
  return { stackwright, onStore, get, runs, cwd, store };
}

it("a server shows the plan of a run of a command, without its secrets", async () => {
  const { stackwright, onStore, get, runs } = await start();
  await onStore("up", "--yes");
  const [run] = await runs();
  expect(run).toMatchObject({ phase: "applied" });
  const { id = "" } = run ?? {};
  const forms = await Promise.all(
    ["plan", "plan/view", "plan/rendered?form=text", "plan/rendered?form=markdown"].map(
      async (form) => get(`/${id}/${form}`),
    ),
  );
  expect(forms.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [document, view, text, markdown] = forms.map((form) => form.text);
  expect(JSON.parse(document ?? "")).toMatchObject({ format: "stackwright.plan/1" });
  expect(JSON.parse(view ?? "")).toMatchObject({
    format: "stackwright.plan-view/1",
    summary: { create: 3 },
  });
  expect(text).toContain("terraform_data.a");
  expect(markdown).toContain("3 to add");
  const shown = await stackwright("runs", "show", id, "--stack", "web/one");
  expect(shown.output).toContain("# terraform_data.a will be created");
  const all = `${forms.map((form) => form.text).join("\n")}${shown.output}`;
  expect(all).toContain("shown");
  expect(all).not.toContain(CANARY);
  expect(all).not.toContain(PASSING);
});

it("the plan of a run that applies a saved plan is the one that was saved", async () => {
  const { onStore, get, runs } = await start();
  await onStore("plan", "--out", "p");
  expect(await runs()).toEqual([]);
  await onStore("up", "p");
  const [run] = await runs();
  const view = await get(`/${run?.id ?? ""}/plan/view`);
  expect(JSON.parse(view.text)).toMatchObject({ summary: { create: 3 } });
});

it("a discarded plan stays to be looked at, and a run without changes has none", async () => {
  const { stackwright, onStore, get, runs, cwd, store } = await start();
  await onStore("up", "--yes");
  await onStore("up", "--yes");
  const unchanged = (await runs()).find(({ phase }) => phase === "no_changes");
  expect(await get(`/${unchanged?.id ?? ""}/plan`)).toMatchObject({ status: 404 });
  await writeFile(join(cwd, "main.tf"), MAIN.replace('"hello"', '"other"'));
  expect(await stackwright("up", "--store", store)).toMatchObject({ code: 1 });
  const discarded = (await runs()).find(({ phase }) => phase === "discarded");
  const text = await get(`/${discarded?.id ?? ""}/plan/rendered?form=text`);
  expect(text.text).toContain('"hello" -> "other"');
});
