// Loaded into a process with --import, threads included: the wall clock jumps by up to a day, back
// and forth, many times a second. The monotonic clock goes on as it does in reality.

const RealDate = Date;
const DAY_MS = 24 * 60 * 60 * 1_000;
let offset = 0;

class JumpingDate extends RealDate {
  constructor(...args: ConstructorParameters<typeof RealDate> | []) {
    if (args.length === 0) super(JumpingDate.now());
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + offset;
  }
}

globalThis.Date = JumpingDate as DateConstructor;
setInterval(() => {
  offset = Math.round((Math.random() - 0.5) * 2 * DAY_MS);
}, 3).unref();
