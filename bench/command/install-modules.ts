import { execFileSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runOnce, spread } from "./measure.ts";

const { values } = parseArgs({
  options: {
    modules: { type: "string", default: "200" },
    runs: { type: "string", default: "3" },
  },
});
const count = Number(values.modules);
const runs = Number(values.runs);

/** One archive for each module, so that nothing is fetched once for many. */
async function packModules(folder: string): Promise<Map<string, Buffer>> {
  const archives = new Map<string, Buffer>();
  for (let at = 0; at < count; at++) {
    const source = join(folder, `m${at}`);
    await mkdir(source);
    const text = `variable "in" {}\nresource "terraform_data" "x" {\n  input = "\${var.in} ${at}"\n}\noutput "out" { value = terraform_data.x.output }\n`;
    await writeFile(join(source, "main.tf"), text);
    execFileSync("tar", ["-czf", `${source}.tar.gz`, "-C", source, "."]);
    archives.set(`/m${at}.tar.gz`, await readFile(`${source}.tar.gz`));
  }
  return archives;
}

await using scratch = await mkdtempDisposable(join(tmpdir(), "install-modules-"));
const archives = await packModules(scratch.path);
const server = createServer((request, response) => {
  const body = archives.get(new URL(request.url ?? "/", "http://h.test").pathname);
  response.writeHead(body === undefined ? 404 : 200).end(request.method === "HEAD" ? "" : body);
});
server.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const subjects = {
  stackwright: [process.execPath, join(import.meta.dirname, "../../apps/cli/bin/stackwright.mjs")],
  terraform: [process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform"],
};

console.log(`${count} modules from ${count} archives, ${runs} runs: middle (least to most), ms`);
for (const [name, words] of Object.entries(subjects)) {
  const cwd = join(scratch.path, name);
  const cache = join(scratch.path, "cache");
  await mkdir(cwd);
  const calls = Array.from(
    { length: count },
    (_, at) => `module "m${at}" {\n  source = "${url}/m${at}.tar.gz"\n  in     = "x"\n}\n`,
  );
  await writeFile(join(cwd, "main.tf"), calls.join("\n"));
  const env = { ...process.env, STACKWRIGHT_MODULE_CACHE: cache, CHECKPOINT_DISABLE: "1" };
  const measure = async (what: string, command: string, remove: readonly string[]) => {
    const times: number[] = [];
    for (let run = 0; run < runs; run++) {
      for (const path of remove) await rm(path, { recursive: true, force: true });
      const { ms, code, error } = await runOnce([...words, command], { cwd, env });
      if (code !== 0) throw new Error(`${name} ${command} ended with ${code}: ${error}`);
      times.push(ms);
    }
    const { middle, least, most } = spread(times);
    const row = `${middle.toFixed(0)} (${least.toFixed(0)} to ${most.toFixed(0)})`;
    console.log(`${name.padEnd(12)} ${what.padEnd(28)} ${row}`);
  };
  const data = join(cwd, ".terraform");
  await measure("init, nothing there", "init", [
    data,
    cache,
    join(cwd, ".stackwright.modules.lock.hcl"),
  ]);
  if (name === "stackwright") await measure("init, all in the cache", "init", [data]);
  await measure("init, all installed", "init", []);
  await measure(`plan of ${count} resources`, "plan", []);
}
server.close();
