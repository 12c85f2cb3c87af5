import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "../../testing/git-place.ts";
import { GitRepository } from "./git-repository.ts";

const { signal } = new AbortController();
const MAIN = "refs/heads/main";

it("makes a copy again that has grown over its limit, and refuses one that is as large at once", async () => {
  const place = await createGitPlace();
  const commit = await place.commit({ "main.tf": "" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  const folder = `${place.folder}/copy.git`;
  const source = { address: `file://${place.bare}`, protocols: "file", folder, signal };
  const repository = new GitRepository({ ...source, env: place.env, maxBytes: 256 * 1024 });
  await repository.fetch([MAIN]);
  await writeFile(`${folder}/grown`, Buffer.alloc(512 * 1024));
  expect((await repository.fetch([MAIN])).get(MAIN)).toBe(commit);
  expect(existsSync(`${folder}/grown`)).toBe(false);
  const small = new GitRepository({ ...source, env: place.env, maxBytes: 10 });
  await expect(small.fetch([MAIN])).rejects.toThrow("too large");
});

it("connects to the addresses that were checked, whatever the name resolves to", async () => {
  const { folder, env } = await createGitPlace();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.host ?? "");
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const repository = new GitRepository({
    address: `http://rebound.invalid:${port}/infra.git`,
    protocols: "http",
    folder: `${folder}/copy.git`,
    env,
    signal,
    pinned: async () => Promise.resolve(`rebound.invalid:${port}:127.0.0.1`),
  });
  await expect(repository.fetch([MAIN])).rejects.toThrow("not found");
  expect(asked).toContain(`rebound.invalid:${port}`);
});
