// @ts-check
/** Long work in slices, so that the page answers meanwhile. */

const SLICE = 30; // milliseconds of work before the browser may show something

export class Slices {
  /** @param {() => void} waiting is called when work needs more than one slice */
  constructor(waiting) {
    this.waiting = waiting;
    this.begun = 0;
  }

  /**
   * Do a piece of work; it takes the place of one that is not done.
   * @param {Generator<void, void>} work
   */
  run(work) {
    this.begun += 1;
    const own = this.begun;
    const on = () => {
      if (own !== this.begun) return;
      const start = performance.now();
      while (performance.now() - start < SLICE) {
        if (work.next().done) {
          document.body.classList.remove("working");
          return;
        }
      }
      document.body.classList.add("working");
      this.waiting();
      setTimeout(on);
    };
    on();
  }
}

/**
 * Do pieces of work one after the other; each is made when its turn comes.
 * @param {...(() => Generator<void, void>)} works
 * @returns {Generator<void, void>}
 */
export function* inTurn(...works) {
  for (const work of works) yield* work();
}
