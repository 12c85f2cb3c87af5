import { createHash } from "node:crypto";
import { mkdir, mkdtempDisposable, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const MAIN = `
output "paths" {
  value = {
    cwd      = path.cwd
    root     = path.root
    module   = path.module
    absolute = abspath(path.root)
    beside   = abspath("../x.txt")
    home     = pathexpand("~/.ssh")
    plain    = pathexpand("a/~")
    outside  = file("../x.txt")
    rooted   = file("\${abspath(path.root)}/in.txt")
    expanded = file("~/x.txt")
    absent   = fileexists("\${path.cwd}/absent")
    listed   = fileset("\${abspath(path.root)}", "*.txt")
    template = templatefile("../x.txt", {})
    sum      = filemd5("../x.txt")
  }
}
`;

async function folders(): Promise<{ readonly root: string; readonly stack: string }> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-paths-"));
  onTestFinished(() => scratch.remove());
  const root = await realpath(scratch.path);
  const stack = join(root, "stack");
  await mkdir(stack);
  await writeFile(join(stack, "main.tf"), MAIN);
  await writeFile(join(stack, "in.txt"), "inside");
  await writeFile(join(root, "x.txt"), "outside");
  return { root, stack };
}

it("paths and files are those of the machine", async () => {
  const { root, stack } = await folders();
  const env = { HOME: root };
  expect(await tryCommand(["up", "-y"], { cwd: stack, env })).toMatchObject({ code: 0 });
  const { output } = await tryCommand(["output", "-json", "paths"], { cwd: stack, env });
  expect(JSON.parse(output)).toEqual({
    cwd: stack,
    root: ".",
    module: ".",
    absolute: stack,
    beside: join(root, "x.txt"),
    home: join(root, ".ssh"),
    plain: "a/~",
    outside: "outside",
    rooted: "inside",
    expanded: "outside",
    absent: false,
    listed: ["in.txt"],
    template: "outside",
    sum: createHash("md5").update("outside").digest("hex"),
  });
});

it("path.cwd is the folder that the user was in, whatever -chdir says", async () => {
  const { root, stack } = await folders();
  const env = { HOME: root };
  await tryCommand(["-chdir=stack", "up", "-y"], { cwd: root, env });
  const { output } = await tryCommand(["output", "-json", "paths"], { cwd: stack, env });
  expect(JSON.parse(output)).toMatchObject({ cwd: root, absolute: stack });
});

it("the console has them, with and without a configuration", async () => {
  const { root, stack } = await folders();
  for (const cwd of [root, stack]) {
    const { output } = await tryCommand(["console"], { cwd, input: "path.cwd\n" });
    expect(output).toBe(`"${cwd}"\n`);
  }
});
