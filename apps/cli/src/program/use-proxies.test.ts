import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const run = promisify(execFile);
const MODULE = new URL("use-proxies.ts", import.meta.url).href;

/** Listens on a free port, and returns it. */
async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

it("sends requests through the proxy, but not those to this machine and to NO_PROXY", async () => {
  const port = await listen(createServer((_request, response) => void response.end("reached")));
  const asked: string[] = [];
  // Leads every connection to the one server, whatever name was asked for.
  const proxy = createServer((request, response) => {
    asked.push(String(request.url));
    response.end("reached");
  });
  proxy.on("connect", (request, socket) => {
    asked.push(String(request.url));
    const upstream = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const one of [upstream, socket]) one.on("error", () => {});
  });
  const proxyPort = await listen(proxy);
  const script = `import { useProxies } from ${JSON.stringify(MODULE)};
    useProxies(process.env);
    for (const host of ["registry.invalid", "127.0.0.1", "localhost", "direct.invalid"]) {
      console.log(await fetch("http://" + host + ":${port}/").then((one) => one.text(), () => "failed"));
    }`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    env: {
      HTTP_PROXY: `http://user:password@127.0.0.1:${proxyPort}`,
      NO_PROXY: "direct.invalid",
    },
    timeout: 30_000,
  });
  expect(stdout.trim().split("\n")).toEqual(["reached", "reached", "reached", "failed"]);
  expect(asked.every((one) => one.includes("registry.invalid"))).toBe(true);
  expect(asked).toHaveLength(1);
});
