import {
  RfsStackInstance_Phase,
  type RfsStackSetOperation,
  type RfsStackSetOperation_Member,
  type RfsStackSetOperation_Share,
} from "@stackwright/proto/stackwright";

// Invariant: with strict tolerance no more instances of a region are in progress than may fail yet, so that a region never has more failures
// than its tolerance and one. In the order of regions, one that has too many failures ends the operation; side by side, it ends itself.

/** What an operation does next. */
interface OperationProgress {
  /** Members whose turn it is. */
  readonly start: readonly RfsStackSetOperation_Member[];
  /** Members that are left out, as too many others failed. */
  readonly cancel: readonly RfsStackSetOperation_Member[];
  /** Regions with too many failures. */
  readonly exceeded: readonly string[];
  /** No member is left. */
  readonly isOver: boolean;
}

/** Where an operation is, by the phases of its members, which are in the order of their regions. */
export function operationProgress(
  operation: Pick<
    RfsStackSetOperation,
    "members" | "sequential" | "tolerance" | "concurrency" | "soft"
  >,
): OperationProgress {
  const { members, sequential, soft } = operation;
  const regions = [...Map.groupBy(members, ({ region }) => region)].map(([region, own]) => {
    const count = (phase: RfsStackInstance_Phase) =>
      own.filter((member) => member.phase === phase).length;
    const tolerance = shareOf(operation.tolerance, own.length);
    const failed = count(RfsStackInstance_Phase.PHASE_FAILED);
    const running = count(RfsStackInstance_Phase.PHASE_RUNNING);
    const waiting = own.filter(({ phase }) => phase === RfsStackInstance_Phase.PHASE_WAITING);
    const most = Math.max(1, shareOf(operation.concurrency, own.length));
    const limit = soft ? most : Math.min(most, tolerance + 1 - failed);
    return {
      region,
      waiting,
      isExceeded: failed > tolerance,
      isOpen: running + waiting.length > 0,
      free: Math.max(0, limit - running),
    };
  });
  const exceeded = regions.filter(({ isExceeded }) => isExceeded);
  const stopped = sequential && exceeded.length > 0 ? regions : exceeded;
  const going = regions.filter((one) => one.isOpen && !stopped.includes(one));
  const turn = sequential ? going.slice(0, 1) : going;
  return {
    start: turn.flatMap(({ waiting, free }) => waiting.slice(0, free)),
    cancel: stopped.flatMap(({ waiting }) => waiting),
    exceeded: exceeded.map(({ region }) => region),
    isOver: regions.every(({ isOpen }) => !isOpen),
  };
}

function shareOf(share: RfsStackSetOperation_Share | undefined, total: number): number {
  if (share === undefined) return 0;
  return share.percent ? Math.floor((share.amount * total) / 100) : share.amount;
}
