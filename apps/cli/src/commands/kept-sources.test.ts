import { cp, mkdir, mkdtempDisposable, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const MAIN = `
module "net" {
  source = "../../modules/net"
}
output "text" {
  value = "\${module.net.text} \${file("name.txt")}"
}
`;

/** A repository with a root module two folders down, and modules beside. */
async function repository(): Promise<{ readonly root: string; readonly live: string }> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-sources-"));
  onTestFinished(() => scratch.remove());
  const root = join(await realpath(scratch.path), "one");
  const live = join(root, "live/prod");
  await mkdir(live, { recursive: true });
  await mkdir(join(root, "modules/net"), { recursive: true });
  await mkdir(join(root, "modules/other"), { recursive: true });
  await mkdir(join(root, ".git"));
  await writeFile(join(live, "main.tf"), MAIN);
  await writeFile(join(live, "name.txt"), "prod");
  await writeFile(join(root, "modules/net/text.tftpl"), "template");
  await writeFile(
    join(root, "modules/net/main.tf"),
    'output "text" { value = "${path.module} ${templatefile("${path.module}/text.tftpl", {})}" }',
  );
  await writeFile(join(root, "modules/other/main.tf"), "");
  return { root, live };
}

it("plans and applies a root module whose modules lie beside it", async () => {
  const { live } = await repository();
  expect(await tryCommand(["up", "-y"], { cwd: live })).toMatchObject({ code: 0 });
  const { output } = await tryCommand(["output", "-raw", "text"], { cwd: live });
  expect(output.trim()).toBe("../../modules/net template prod");
});

it.each([
  ["modules/net/main.tf", "the configuration changed"],
  ["modules/net/text.tftpl", '"../../modules/net/text.tftpl"'],
  ["live/prod/name.txt", '"name.txt"'],
])("refuses a kept plan after %s changed", async (path, message) => {
  const { root, live } = await repository();
  expect(await tryCommand(["plan", "-out=p"], { cwd: live })).toMatchObject({ code: 0 });
  await writeFile(join(root, path), "# changed");
  const refused = await tryCommand(["up", "-y", "p"], { cwd: live });
  expect(refused.code).toBe(1);
  expect(refused.error).toContain(message);
  expect(refused.error).toContain("since the plan was made");
});

it("applies a kept plan in a copy of the tree, whatever became of modules that are not called", async () => {
  const { root, live } = await repository();
  expect(await tryCommand(["plan", "-out=p"], { cwd: live })).toMatchObject({ code: 0 });
  const copy = join(root, "../two");
  await cp(root, copy, { recursive: true });
  await writeFile(join(copy, "modules/other/main.tf"), "# changed");
  const store = `--store=sqlite:${live}/.stackwright/store`;
  const env = { STACKWRIGHT_KEY_FILE: join(live, ".stackwright/key") };
  const applied = await tryCommand(["up", "-y", "p", store], { cwd: join(copy, "live/prod"), env });
  expect(applied).toMatchObject({ code: 0, error: "" });
});
