import { expect, it, onTestFinished } from "vitest";
import { serveWorkerHealth, type WorkerCondition } from "./serve-worker-health.ts";

async function serve() {
  let condition: WorkerCondition = { draining: false, lostForMs: 0 };
  const health = await serveWorkerHealth({ host: "127.0.0.1", port: 0 }, () => condition);
  onTestFinished(() => health[Symbol.asyncDispose]());
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://127.0.0.1:${health.port}${path}`, { method });
    return [answer.status, await answer.text()] as const;
  };
  const become = (next: WorkerCondition): void => {
    condition = next;
  };
  return { ask, become };
}

it("is ready while a server answers, and healthy in any case", async () => {
  const { ask, become } = await serve();
  expect(await ask("/readyz")).toEqual([200, '{"status":"ok"}\n']);
  become({ draining: false, lostForMs: 59_999 });
  expect((await ask("/readyz"))[0]).toBe(200);
  become({ draining: false, lostForMs: 60_000 });
  expect(await ask("/readyz")).toEqual([503, '{"status":"no server answers"}\n']);
  expect((await ask("/healthz"))[0]).toBe(200);
});

it("is not ready while it drains", async () => {
  const { ask, become } = await serve();
  become({ draining: true, lostForMs: 0 });
  expect(await ask("/readyz")).toEqual([503, '{"status":"draining"}\n']);
  expect((await ask("/healthz", "HEAD"))[0]).toBe(200);
});

it("answers nothing else", async () => {
  const { ask } = await serve();
  expect((await ask("/"))[0]).toBe(404);
  expect((await ask("/readyz", "POST"))[0]).toBe(405);
});
