import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { P, startApi } from "../testing/start-api.ts";

/** A Git server that takes requests and says nothing. */
async function startSilentServer(): Promise<string> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/infra.git`;
}

it("serves the connections of other projects while Git servers of one do not answer", {
  timeout: 60_000,
}, async () => {
  const place = await createGitPlace();
  await place.commit({ "README.md": "infra" });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  const silent = await startSilentServer();
  const { call } = await startApi("none", {
    vcsFolders: [place.repositories],
    vcsHosts: ["127.0.0.1"],
  });
  const connect = async (connections: string, name: string, repository_url: string) => {
    const body = { name, kind: "generic", repository_url, stacks: [] };
    const made = await call("POST", connections, { body });
    expect([made.status, made.text]).toEqual([201, made.text]);
  };
  for (let at = 0; at < 6; at += 1) await connect(`${P}/vcs-connections`, `silent-${at}`, silent);
  await call("POST", "/api/v1/projects", { body: { name: "zoo" } });
  const others = "/api/v1/projects/zoo/vcs-connections";
  await connect(others, "infra", `file://${place.bare}`);
  const tasks = async () => (await call("GET", `${others}/infra/tasks`)).json["tasks"];
  await expect.poll(tasks, { timeout: 20_000 }).toEqual([]);
});
