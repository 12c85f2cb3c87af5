import { once } from "node:events";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { createManualClock } from "@stackwright/base/testing";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { EventStreams } from "./event-streams.ts";

const PIECE = 64 * 1024;
/** Together far more than what the buffers of a connection hold. */
const PIECES = 600;

/** A server whose streams have numbered pieces, and readers of it that read when they are asked to. */
async function start(limits?: { readonly all: number; readonly account: number }) {
  const clock = createManualClock();
  const stopping = new AbortController();
  let open = 0;
  const streams = new EventStreams(
    {
      clock,
      stopping: stopping.signal,
      authorizeAgain: async () => undefined,
      streamObserver: {
        opens: () => {
          open += 1;
          return () => void (open -= 1);
        },
      },
    },
    limits,
  );
  const answers: ServerResponse[] = [];
  const app = fastify({ forceCloseConnections: true });
  app.get<{ Params: { account: string } }>("/:account", async (request, reply) => {
    answers.push(reply.raw);
    return streams.answer(request, reply, request.params.account, async () => pieces());
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => {
    stopping.abort();
    await app.close();
  });
  const connect = async (account = "acme"): Promise<IncomingMessage> => {
    const asked = get(`${url}/${account}`, { agent: false });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return answer;
  };
  return { clock, stopping, connect, answers, open: () => open };
}

async function* pieces(): AsyncGenerator<string> {
  for (let at = 0; at < PIECES; at += 1) {
    yield `${at} `.padEnd(PIECE, ".");
    // As streams do that wait for changes in between.
    await new Promise(setImmediate);
  }
}

async function numbersIn(answer: IncomingMessage): Promise<readonly number[]> {
  let text = "";
  for await (const chunk of answer) text += String(chunk).replaceAll(".", "");
  return text.trim().split(" ").map(Number);
}

const ALL = Array.from({ length: PIECES }, (_, at) => at);

it("keeps at most one piece for a reader that takes nothing, and lets it continue without loss", async () => {
  const { connect, answers } = await start();
  const slow = await connect();
  const [answer] = answers;
  await expect.poll(() => answer?.writableNeedDrain).toBe(true);
  // Another one reads everything meanwhile.
  expect(await numbersIn(await connect())).toEqual(ALL);
  expect(answer?.writableNeedDrain).toBe(true);
  expect(answer?.writableLength).toBeLessThan(2 * PIECE);
  expect(await numbersIn(slow)).toEqual(ALL);
});

it("cuts off a reader that takes nothing for a minute", async () => {
  const { clock, connect, answers, open } = await start();
  const slow = await connect();
  const [answer] = answers;
  await expect.poll(() => answer?.writableNeedDrain).toBe(true);
  await clock.advance(59_000);
  expect([answer?.destroyed, open()]).toEqual([false, 1]);
  await clock.advance(2_000);
  await expect.poll(open).toBe(0);
  await expect(numbersIn(slow)).rejects.toThrow("aborted");
});

it("does not wait for a reader that takes nothing when the server stops", async () => {
  const { stopping, connect, answers, open } = await start();
  const slow = await connect();
  const [answer] = answers;
  await expect.poll(() => answer?.writableNeedDrain).toBe(true);
  stopping.abort();
  await expect.poll(open).toBe(0);
  expect(answer?.destroyed).toBe(true);
  await expect(numbersIn(slow)).rejects.toThrow("aborted");
});

it("leaves places to other accounts where one takes all that it may have", async () => {
  const { connect } = await start({ all: 3, account: 2 });
  const first = await connect();
  await connect();
  const refused = await connect();
  expect(refused.statusCode).toBe(500);
  expect(await bodyOf(refused)).toContain("3 streams of events at the same time, 2 of one account");
  const other = await connect("other");
  expect(other.statusCode).toBe(200);
  // One that has ended gives its place to the next.
  await numbersIn(first);
  await expect.poll(async () => (await connect()).statusCode).toBe(200);
});

it("serves no more streams than it has places for all accounts", async () => {
  const { connect } = await start({ all: 3, account: 2 });
  const statuses: unknown[] = [];
  for (const account of ["a", "a", "b", "c"]) statuses.push((await connect(account)).statusCode);
  expect(statuses).toEqual([200, 200, 200, 500]);
});

async function bodyOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return text;
}
