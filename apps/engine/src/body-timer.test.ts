import { type AddressInfo, connect } from "node:net";
import fastify from "fastify";
import { describe, expect, it, onTestFinished } from "vitest";
import { limitBodyTime } from "./body-timer.ts";

describe("the time for bodies", () => {
  it("ends connections of clients that drip, and no others", async () => {
    const app = fastify();
    limitBodyTime(app, 150);
    app.post("/", async () => "done");
    app.put("/upload", { config: { upload: true } }, async () => "done");
    await app.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => app.close());
    const { port } = app.server.address() as AddressInfo;

    const drip = async (line: string, pauseMs: number): Promise<string> => {
      const socket = connect(port, "127.0.0.1");
      let answer = "";
      socket.on("data", (chunk) => {
        answer += String(chunk);
      });
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(
        `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n`,
      );
      for (const letter of "abcd") {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        if (!socket.destroyed) socket.write(letter);
      }
      await closed;
      return answer.split("\r\n")[0] ?? "";
    };
    expect(await drip("POST /", 80)).toBe("");
    expect(await drip("POST /", 5)).toBe("HTTP/1.1 200 OK");
    expect(await drip("PUT /upload", 80)).toBe("HTTP/1.1 200 OK");
  });

  it("lets uploads be judged for longer than a connection may be idle", async () => {
    const app = fastify({ connectionTimeout: 150 });
    limitBodyTime(app);
    const slow = async (): Promise<string> => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return "done";
    };
    app.put("/upload", { config: { upload: true } }, slow);
    app.put("/other", slow);
    await app.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    const put = (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: "PUT", body: "abc" });
    expect(await (await put("/upload")).text()).toBe("done");
    await expect(put("/other")).rejects.toThrow();
  });
});
