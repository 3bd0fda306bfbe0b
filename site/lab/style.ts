/** The colours of the console (lib/console/page/app.css). */
export const style = `
:host {
  --panel: light-dark(#ffffff, #151a22);
  --ground: light-dark(#f6f7f9, #0d1015);
  --raised: light-dark(#f1f3f6, #1d232d);
  --line: light-dark(#e2e5eb, #2a313d);
  --text: light-dark(#14181f, #e8ebf0);
  --soft: light-dark(#575e6b, #9aa3b2);
  --accent: light-dark(#3b55d9, #93a5ff);
  --accent-bar: light-dark(#5168e0, #6f85f2);
  --accent-ground: light-dark(#eceffd, #20284a);
  --green: light-dark(#167a4a, #5fd39a);
  --green-bar: light-dark(#187c4c, #2fa871);
  --amber: light-dark(#94560a, #f3b765);
  --amber-bar: light-dark(#e0952b, #d8912f);
  --amber-ground: light-dark(#fdf3e2, #33270f);
  --red: light-dark(#b3261e, #ff8f86);
  --red-bar: light-dark(#d9453c, #e5534b);
  --red-ground: light-dark(#fdecea, #3a1a1a);
  --mono: ui-monospace, 'SF Mono', SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  display: block;
  container-type: inline-size;
  margin: 24px 0;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
p, ul, ol, dl, dd { margin: 0; padding: 0; list-style: none; }
.lab {
  display: grid;
  gap: 16px;
  padding: 18px;
  border: 1px solid var(--line);
  border-radius: 14px;
  background: var(--ground);
  color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', sans-serif;
  font-variant-numeric: tabular-nums;
  text-align: start;
}
button, select, input { font: inherit; color: inherit; }
button, select {
  padding: 5px 12px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--panel);
}
button { font-weight: 550; cursor: pointer; white-space: nowrap; }
button:hover:not(:disabled) { border-color: var(--soft); }
button:disabled { color: var(--soft); opacity: 0.55; cursor: default; }
button.main { border-color: transparent; background: var(--accent); color: var(--panel); }
button.quiet { background: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
input[type='range'] { flex: 1 1 120px; min-width: 90px; accent-color: var(--accent); }
.choice { display: inline-flex; align-items: center; gap: 7px; color: var(--soft); }
.choice select { color: var(--text); }

.head { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 18px; }
.head .choice span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.head select { font-size: 15px; font-weight: 650; background: none; border-color: var(--line); }
.about { flex: 1 1 320px; color: var(--soft); }

.script {
  display: grid;
  grid-template-columns: auto 1fr auto;
  align-items: center;
  gap: 8px 16px;
  padding: 12px 14px;
  border-radius: 10px;
  background: var(--accent-ground);
}
.progress { display: grid; gap: 4px; color: var(--soft); font-size: 12px; white-space: nowrap; }
.dots { display: flex; gap: 4px; }
.dots i { width: 9px; height: 9px; border-radius: 50%; border: 1.5px solid var(--accent); }
.dots i.past { background: var(--accent); }
.says { font-size: 15px; font-weight: 550; min-height: 2.9em; display: flex; align-items: center; }

.timeline { border: 1px solid var(--line); border-radius: 10px; background: var(--panel); overflow: hidden; }
.lane { display: grid; grid-template-columns: 300px 1fr; border-top: 1px solid var(--line); }
.lane:first-child { border-top: 0; }
.who { display: grid; grid-template-columns: auto 1fr; align-items: center; gap: 1px 9px; padding: 7px 12px; }
.who b {
  grid-row: span 2;
  min-width: 30px; height: 30px; padding: 0 7px;
  display: grid; place-items: center;
  border-radius: 8px;
  background: var(--raised);
  font-weight: 650;
}
.redis .who b, .row .who b { background: none; padding: 0; grid-row: auto; }
.redis .who, .row .who { grid-template-columns: 54px 1fr; }
.state { color: var(--soft); font-size: 13px; min-height: 1.45em; }
.acts { grid-column: 2; display: flex; gap: 3px; margin-inline-start: -6px; }
.acts button { padding: 0 6px; border-color: transparent; background: none; font-size: 12px; color: var(--accent); }
.acts button:disabled { color: var(--soft); }
.lane[data-state='holds'] b { background: var(--accent); color: var(--panel); }
.lane[data-state='waits'] b { background: var(--amber-ground); color: var(--amber); }
.lane[data-state='late'] b, .lane[data-state='late'] .state, .lane[data-state='away'] .state, .lane[data-state='lost'] .state { color: var(--red); }
.lane[data-state='late'] b { background: var(--red-ground); }
.lane[data-state='stopped'] b, .lane[data-state='dead'] b { background: var(--soft); color: var(--panel); }
.lane[data-state='stopped'] .state { color: var(--amber); }
.lane.redis, .lane.row { background: color-mix(in srgb, var(--raised) 45%, transparent); }

.track {
  position: relative;
  min-height: calc(var(--rows) * 26px + 10px);
  border-inline-start: 1px solid var(--line);
  background: repeating-linear-gradient(90deg, var(--line) 0 1px, transparent 1px calc(100% / 6)) 0 0;
  background: none;
  overflow: hidden;
}
.track::after { content: ''; position: absolute; inset-block: 0; left: var(--now); width: 2px; margin-left: -1px; background: var(--text); opacity: 0.75; }
.bars span {
  position: absolute;
  top: calc(50% - var(--rows) * 13px + var(--row) * 26px + 3px);
  height: 20px;
  padding: 0 6px;
  border-radius: 5px;
  overflow: hidden;
  white-space: nowrap;
  font-size: 12px;
  font-weight: 650;
  line-height: 20px;
  color: light-dark(#fff, #0d1015);
  background: var(--accent-bar);
}
.bars .wait { background: var(--amber-ground); box-shadow: inset 0 0 0 1px var(--amber-bar); opacity: 0.9; }
.bars .late { background: repeating-linear-gradient(-45deg, var(--red-bar) 0 6px, color-mix(in srgb, var(--red-bar) 72%, var(--panel)) 6px 12px); }
.bars .record { background: var(--green-bar); }
.bars .half { height: 12px; font-size: 10px; line-height: 12px; }
.bars .ahead { background: color-mix(in srgb, var(--accent-bar) 18%, transparent); border-radius: 0 5px 5px 0; box-shadow: inset -2px 0 0 var(--accent-bar); padding: 0; }
.bars .ahead.record { background: color-mix(in srgb, var(--green-bar) 18%, transparent); box-shadow: inset -2px 0 0 var(--green-bar); }
.bars .stopped, .bars .dead, .bars .away {
  top: 0; height: 100%; border-radius: 0; padding: 0;
  background: repeating-linear-gradient(45deg, color-mix(in srgb, var(--soft) 34%, transparent) 0 4px, color-mix(in srgb, var(--soft) 12%, transparent) 4px 9px);
}
.bars .dead { background: color-mix(in srgb, var(--soft) 45%, transparent); }
.bars .away { background: repeating-linear-gradient(45deg, color-mix(in srgb, var(--red-bar) 40%, transparent) 0 4px, color-mix(in srgb, var(--red-bar) 12%, transparent) 4px 9px); }
.bars .write { min-width: 20px; padding: 0; margin-left: -10px; border-radius: 50%; text-align: center; background: var(--green-bar); }
.bars .refused, .bars .late.write { background: var(--amber-bar); }
.bars .lost-update { background: var(--red-bar); box-shadow: 0 0 0 4px var(--red-ground); }
.foot .who { padding: 0; }
.foot .track { min-height: 24px; }
.axis span { position: absolute; top: 4px; transform: translateX(-50%); color: var(--soft); font-size: 11px; white-space: nowrap; }
.axis span:first-child { transform: none; padding-left: 3px; }

.sentence {
  display: flex; align-items: center;
  min-height: 3.2em;
  padding: 8px 14px;
  border-inline-start: 4px solid var(--accent);
  border-radius: 8px;
  background: var(--panel);
  font-size: 15px;
}
.sentence[data-tone='good'] { border-color: var(--green-bar); }
.sentence[data-tone='warn'] { border-color: var(--amber-bar); }
.sentence[data-tone='bad'] { border-color: var(--red-bar); background: var(--red-ground); color: var(--red); font-weight: 600; }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; }
.clock { min-width: 58px; text-align: end; font-weight: 650; font-size: 15px; }
.faults button { font-size: 13px; color: var(--red); }
.faults button:disabled { color: var(--soft); }
.foot.bar { gap: 8px 16px; padding-top: 14px; border-top: 1px solid var(--line); }
.copied { color: var(--green); }

.panels { display: grid; gap: 14px; grid-template-columns: 1fr 1fr; }
.panel { padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px; background: var(--panel); min-width: 0; }
.panel.guarantees { grid-column: 1 / -1; }
.panel.story { grid-column: 1 / -1; }
.name { margin-bottom: 8px; font-weight: 650; }
.records { display: grid; gap: 12px; }
dl { display: grid; gap: 3px; }
dl div { display: grid; grid-template-columns: 74px 1fr; gap: 10px; }
.rows dl div { grid-template-columns: 140px 1fr; }
dt { color: var(--soft); }
dd { font-family: var(--mono); font-size: 13px; overflow-wrap: anywhere; }
dl[data-lost] div:last-child { color: var(--red); font-weight: 650; }
dl[data-lost] div:last-child dt { color: var(--red); }
.promises { display: grid; grid-template-columns: repeat(auto-fill, minmax(270px, 1fr)); gap: 10px 18px; }
.promises li { display: grid; align-content: start; grid-template-columns: 20px 24px 1fr; gap: 0 4px; align-items: baseline; }
.promises small { grid-column: 3; color: var(--soft); font-size: 12px; min-height: 1.45em; }
.sign { font-weight: 700; color: var(--green); }
[data-state='open'] .sign, [data-state='open'] .text { color: var(--amber); }
[data-state='broken'] .sign, [data-state='broken'] .text { color: var(--red); font-weight: 650; }
.told { max-height: 190px; overflow-y: auto; }
.told li { display: grid; grid-template-columns: 62px 1fr; gap: 10px; padding: 3px 0; }
.told time { color: var(--soft); text-align: end; }
.told [data-tone='good'] span { color: var(--green); }
.told [data-tone='warn'] span { color: var(--amber); }
.told [data-tone='bad'] span { color: var(--red); font-weight: 600; }
.told [data-tone='you'] span { font-weight: 600; }

@container (min-width: 1080px) {
  .panels { grid-template-columns: minmax(250px, 1fr) minmax(250px, 1fr) minmax(320px, 1.5fr); }
  .panel.story { grid-column: auto; grid-row: 1; grid-column-start: 3; }
  .promises { grid-template-columns: repeat(3, 1fr); }
}
@container (max-width: 720px) {
  .speed span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  input[type='range'] { flex-basis: 90px; }
  .lane { grid-template-columns: 1fr; }
  .lane .track { border-inline-start: 0; border-top: 1px solid var(--line); min-height: calc(var(--rows) * 22px + 6px); }
  .lane .who { grid-template-columns: auto 1fr auto; }
  .process .who b { grid-row: auto; }
  .acts { grid-column: auto; }
  .lane.foot .track { border-top: 0; }
  .bars span { top: calc(50% - var(--rows) * 11px + var(--row) * 22px + 1px); }
}
@container (max-width: 520px) {
  .lab { padding: 12px; gap: 12px; }
  .lane .who { grid-template-columns: auto 1fr; padding: 6px 10px; }
  .process .who b { grid-row: span 2; }
  .acts { grid-column: 2; }
  .panels { grid-template-columns: minmax(0, 1fr); }
  .panel { grid-column: 1 / -1; }
  .script { grid-template-columns: 1fr auto; }
  .says { grid-column: 1 / -1; grid-row: 2; min-height: 4.35em; }
  .axis span:nth-child(even) { display: none; }
}
`;
