import { expect, it } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

it("requests are counted by what their caller is known by, and open streams by what they are of", async () => {
  const { call, first, server } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const scrape = async (name: string): Promise<readonly string[]> => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith(`stackwright_${name}{`));
  };
  await call("GET", S);
  await call("GET", S, { token: `sw_${"x".repeat(43)}` });
  await call("GET", S, { token: "" });
  const judged = (await scrape("auth_total")).join("\n");
  expect(judged).toMatch(/how="token",outcome="accepted"\} [1-9]/);
  expect(judged).toMatch(/how="token",outcome="refused"\} 1$/m);
  expect(judged).toMatch(/how="none",outcome="refused"\} 1$/m);
  expect(judged).not.toContain(first.token);
  const streams = async () => (await scrape("sse_clients")).toSorted();
  expect(await streams()).toEqual([
    'stackwright_sse_clients{mode="run"} 0',
    'stackwright_sse_clients{mode="watch"} 0',
  ]);
  const leave = new AbortController();
  const headers = { authorization: `Bearer ${first.token}`, accept: "text/event-stream" };
  const opened = await fetch(`${server.url}/api/v1/watch?topics=stacks`, {
    headers,
    signal: leave.signal,
  });
  expect(opened.status).toBe(200);
  expect(await streams()).toContain('stackwright_sse_clients{mode="watch"} 1');
  leave.abort();
  await expect.poll(streams).toContain('stackwright_sse_clients{mode="watch"} 0');
});
