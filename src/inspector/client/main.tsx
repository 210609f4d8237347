import { render } from 'preact';
import { App } from './app.tsx';
import { startChoosing } from './chosen.ts';
import { startConnection } from './connection.ts';
import { renderByFrames } from './measure.ts';
import { startPast } from './past.ts';
import './style.css';

renderByFrames();
startChoosing();
startPast();
startConnection();
render(<App />, document.querySelector('#app') as HTMLElement);
