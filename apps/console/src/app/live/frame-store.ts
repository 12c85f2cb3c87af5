/** When listeners are called: before the next picture, as a browser does it. */
type NextFrame = (run: () => void) => void;

/** In a tab that is not shown there are no frames. */
const nextFrame: NextFrame = (run) => {
  if (document.hidden) setTimeout(run, 250);
  else requestAnimationFrame(run);
};

/**
 * State that changes often, for `useSyncExternalStore`: however many changes there are, listeners hear of them once per frame.
 */
export abstract class FrameStore<Snapshot> {
  readonly #listeners = new Set<() => void>();
  readonly #next: NextFrame;
  #isDue = false;

  constructor(next: NextFrame = nextFrame) {
    this.#next = next;
  }

  abstract readonly snapshot: () => Snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  protected changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#next(() => {
      this.#isDue = false;
      this.publish();
      for (const listener of this.#listeners) listener();
    });
  }

  /** Makes the snapshot that is read from now on. */
  protected abstract publish(): void;
}
