import { expect, it, vi } from "vitest";
import { startApi } from "./testing/start-api.ts";

it("a request that is refused outside of the faces is no error of the server in its log", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    const { server } = await startApi("none", { logLevel: "info" });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}/none`, { method: "POST", headers, body: "{" });
    expect(answer.status).toBe(400);
    const lines = write.mock.calls
      .flatMap(([text]) => String(text).split("\n"))
      .filter((line) => line.includes('"msg":"a request '))
      .map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([[30, "a request was refused"]]);
  } finally {
    write.mockRestore();
  }
});
