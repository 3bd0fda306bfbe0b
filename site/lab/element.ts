import { asTest } from './as-test.js';
import { h, mark, write } from './dom.js';
import { Panels } from './panels.js';
import { Player } from './player.js';
import type { Action, Fencing, Settings } from './scene.js';
import { scenes } from './scenes.js';
import { seconds } from './story.js';
import { style } from './style.js';
import { Timeline } from './timeline.js';

const fencings: readonly Fencing[] = ['off', 'at the write', 'before the read'];
const leases = [5, 10, 20, 30, 60];

/** `<lock-lab scene="pause">`: a scene that the reader plays, stops and disturbs. The attribute is one of scenes.ts. */
export class LockLab extends HTMLElement {
  static readonly observedAttributes = ['scene'];

  private player: Player | undefined;
  private settings: Partial<Settings> = {};
  private repaint: (() => void) | undefined;
  private frames = 0;
  private lastFrame = 0;

  connectedCallback(): void {
    this.open();
    const frame = (now: number): void => {
      this.frames = requestAnimationFrame(frame);
      const passed = now - this.lastFrame;
      // With less motion time moves twice a second.
      if (matchMedia('(prefers-reduced-motion: reduce)').matches && passed < 500) return;
      this.lastFrame = now;
      void this.player?.frame(passed);
    };
    this.frames = requestAnimationFrame(frame);
  }

  disconnectedCallback(): void {
    cancelAnimationFrame(this.frames);
    this.player?.close();
    this.player = undefined;
  }

  attributeChangedCallback(): void {
    this.settings = {};
    if (this.player) this.open();
  }

  /** The steps so far as a test, as the button copies it. */
  get test(): string {
    return asTest(this.player!.lab);
  }

  private open(): void {
    this.player?.close();
    const name = this.getAttribute('scene') ?? 'pause';
    const scene = scenes[name] ?? scenes['pause']!;
    const player = new Player(scene, this.settings, () => this.repaint?.());
    this.player = player;
    const { lab } = player;
    const timeline = new Timeline(lab, (action) => void player.act(action));
    const panels = new Panels(lab);
    const button = (text: string, onclick: () => unknown, kind = ''): HTMLButtonElement =>
      h('button', { type: 'button', class: kind, 'data-name': text, onclick }, text);
    const act = (text: string, action: Action) => [button(text, () => player.act(action)), action] as const;

    const next = button(
      'Next',
      () => (player.isInStep ? player.finish() : player.isAtEnd ? this.open() : player.next()),
      'main',
    );
    const play = button('Play', () => {
      player.isPlaying = !player.isPlaying;
      this.repaint?.();
    });
    const says = h('p', { class: 'says' });
    const dots = h('span', { class: 'dots', 'aria-hidden': 'true' }, ...scene.steps.map(() => h('i')));
    const count = h('span', { class: 'count' });
    const sentence = h('p', { class: 'sentence', role: 'status' });
    const clock = h('output', { class: 'clock', 'aria-live': 'off' });
    const scrub = h('input', { type: 'range', min: 0, step: 250, 'aria-label': 'Move the time forward to' });
    scrub.addEventListener('change', () => {
      const ms = Number(scrub.value) - lab.clock.now();
      if (ms > 0) void player.act({ do: 'wait', ms });
      else this.repaint?.();
    });
    const faults = [
      act('Lose the next message', { do: 'lose-message' }),
      act('Take Redis away', { do: 'redis-away' }),
      act('Bring Redis back', { do: 'redis-back' }),
      ...lab.keys.flatMap((key) => [
        act(`Delete the key${lab.keys.length > 1 ? ` ${key}` : ''}`, { do: 'delete', key }),
        act(`Release${lab.keys.length > 1 ? ` ${key}` : ''} by force`, { do: 'force', key }),
      ]),
      act("Set Redis' clock 1 min forward", { do: 'clock', ms: 60_000 }),
    ];
    const copied = h('span', { class: 'copied', role: 'status' });
    const copy = button('Copy as a test', () => this.copy(copied), 'quiet');

    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
    const focused = root.activeElement?.getAttribute('data-name');
    root.replaceChildren(
      h('style', {}, style),
      h(
        'section',
        { class: 'lab', 'aria-label': 'Simulator of the lock' },
        h(
          'div',
          { class: 'head' },
          this.choice(
            'Scene',
            Object.entries(scenes).map(([key, { title }]) => [key, title]),
            name in scenes ? name : 'pause',
            (key) => this.setAttribute('scene', key),
          ),
          h('p', { class: 'about' }, scene.about),
        ),
        h('div', { class: 'script' }, h('div', { class: 'progress' }, dots, count), says, next),
        timeline.element,
        sentence,
        h(
          'div',
          { class: 'bar', role: 'group', 'aria-label': 'Time' },
          play,
          button('Next event', () => player.toNextEvent()),
          button('+1 s', () => player.act({ do: 'wait', ms: 1_000 })),
          button('+10 s', () => player.act({ do: 'wait', ms: 10_000 })),
          scrub,
          clock,
          this.choice(
            'Speed',
            ['1', '4', '8', '20'].map((speed) => [speed, `${speed}×`]),
            `${player.speed}`,
            (speed) => {
              player.speed = Number(speed);
            },
          ),
        ),
        h('div', { class: 'bar faults', role: 'group', 'aria-label': 'Make trouble' }, ...faults.map(([one]) => one)),
        panels.element,
        h(
          'div',
          { class: 'bar foot' },
          this.choice(
            'Lease',
            leases.map((lease) => [`${lease}`, `${lease} s`]),
            `${lab.settings.lease / 1000}`,
            (lease) => this.change({ lease: Number(lease) * 1000 }),
          ),
          this.choice(
            'Renewed',
            [
              ['yes', 'yes'],
              ['no', 'no'],
            ],
            lab.settings.renew ? 'yes' : 'no',
            (renew) => this.change({ renew: renew === 'yes' }),
          ),
          this.choice(
            'Token checked',
            fencings.map((fencing) => [fencing, fencing]),
            lab.settings.fencing,
            (fencing) => this.change({ fencing: fencing as Fencing }),
          ),
          button('Start again', () => this.open(), 'quiet'),
          copy,
          copied,
        ),
      ),
    );

    this.repaint = () => {
      if (this.player !== player) return;
      const now = lab.clock.now();
      const { steps } = scene;
      [...dots.children].forEach((dot, index) => mark(dot, 'class', index < player.step ? 'past' : ''));
      write(count, `Step ${player.step} of ${steps.length}`);
      write(
        says,
        player.step === 0
          ? 'Press Next: the scene goes on step by step. Or disturb it yourself.'
          : steps[player.step - 1]!.says,
      );
      write(next, player.isInStep ? 'Skip' : player.isAtEnd ? 'Play again' : 'Next');
      write(play, player.isPlaying ? 'Pause' : 'Play');
      const last = lab.story.latest;
      write(sentence, last?.text ?? 'All processes are idle, and the lock is free.');
      mark(sentence, 'data-tone', last?.tone ?? 'plain');
      write(clock, seconds(now));
      for (const [one, action] of faults) {
        one.disabled = !lab.isPossible(action);
        one.hidden = (action.do === 'redis-away' || action.do === 'redis-back') && one.disabled;
      }
      scrub.max = `${Math.ceil(now / 60_000 + 1) * 60_000}`;
      if (root.activeElement !== scrub) scrub.value = `${now}`;
      scrub.setAttribute('aria-valuetext', seconds(now));
      timeline.paint();
      panels.paint();
    };
    this.repaint();
    // A scene that starts again leaves the reader where he was.
    if (focused) root.querySelector<HTMLElement>(`[data-name='${focused}']`)?.focus();
  }

  private change(settings: Partial<Settings>): void {
    this.settings = { ...this.settings, ...settings };
    this.open();
  }

  private choice(
    label: string,
    options: ReadonlyArray<readonly [value: string, text: string]>,
    value: string,
    chosen: (value: string) => void,
  ): HTMLElement {
    const select = h(
      'select',
      { 'data-name': label },
      ...options.map(([key, text]) => h('option', { value: key, selected: key === value }, text)),
    );
    select.addEventListener('change', () => chosen(select.value));
    return h('label', { class: `choice ${label.toLowerCase()}` }, h('span', {}, label), select);
  }

  private async copy(copied: HTMLElement): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.test);
      write(copied, 'Copied.');
    } catch {
      // No permission, or no secure page.
      write(copied, 'The browser does not allow it.');
    }
  }
}
