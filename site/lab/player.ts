import { Lab } from './lab.js';
import type { Action, Scene, Settings } from './scene.js';

/** Moves the time of a lab, and plays the steps of its scene. One action at a time. */
export class Player {
  lab: Lab;
  /** Steps that were begun. */
  step = 0;
  isPlaying = false;
  /** Virtual milliseconds in one real one. */
  speed = 8;
  /** What is left of the present step. */
  private script: Action[] = [];
  private queue: Promise<void>;
  private isBusy = false;

  constructor(
    scene: Scene,
    settings: Partial<Settings>,
    private readonly changed: () => void,
  ) {
    this.lab = new Lab(scene, settings);
    this.queue = this.lab.start();
    void this.queue.then(changed);
  }

  get isInStep(): boolean {
    return this.script.length > 0;
  }

  get isAtEnd(): boolean {
    return this.step === this.lab.scene.steps.length;
  }

  /** Begins the next step of the scene. Frames play it. */
  next(): void {
    const step = this.lab.scene.steps[this.step];
    if (step) {
      this.step++;
      this.script = [...step.actions];
    }
    this.changed();
  }

  /** The rest of the present step, at once. */
  finish(): Promise<void> {
    const rest = this.script.splice(0);
    return this.run(async () => {
      for (const action of rest) await this.lab.do(action);
    });
  }

  act(action: Action): Promise<void> {
    return this.run(() => this.lab.do(action));
  }

  /** Lets time pass until the story has a new sentence, for a minute at most. */
  toNextEvent(): Promise<void> {
    return this.run(async () => {
      const { told } = this.lab.story;
      const known = told.length;
      for (let passed = 0; passed < 60_000 && told.length === known; passed += 250)
        await this.lab.do({ do: 'wait', ms: 250 });
    });
  }

  /** One frame on the page. @param real milliseconds since the last one */
  async frame(real: number): Promise<void> {
    if (this.isBusy) return;
    // A hidden page has no frames. The time in which it was hidden does not count. With less motion there are two in a second.
    const ms = Math.max(1, Math.round(Math.min(real, 600) * this.speed));
    const [first] = this.script;
    if (first?.do === 'wait') {
      const part = Math.min(ms, first.ms);
      if (part === first.ms) this.script.shift();
      else this.script[0] = { do: 'wait', ms: first.ms - part };
      await this.act({ do: 'wait', ms: part });
    } else if (first) {
      this.script.shift();
      await this.act(first);
    } else if (this.isPlaying && !this.isAtEnd) {
      this.next();
    } else if (this.isPlaying) {
      await this.act({ do: 'wait', ms });
    }
  }

  close(): void {
    this.isPlaying = false;
    this.script = [];
    this.lab.close();
  }

  private run(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(async () => {
      this.isBusy = true;
      try {
        await work();
      } finally {
        this.isBusy = false;
        this.changed();
      }
    });
    this.queue = done.catch(() => undefined);
    return done;
  }
}
