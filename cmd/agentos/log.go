package main

import (
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger writes what operators need to stderr, from the level that --log-level
// or AGENTOS_LOG names.
func (a *app) logger() (*zap.Logger, error) {
	name := a.logLevel
	if name == "" {
		name = os.Getenv("AGENTOS_LOG")
	}
	switch name {
	case "off":
		return zap.NewNop(), nil
	case "":
		name = "warn"
	}
	level, err := zapcore.ParseLevel(name)
	if err != nil || level > zapcore.ErrorLevel {
		return nil, usage("log level %q is none of debug, info, warn, error, off", name)
	}
	c := zapcore.EncoderConfig{
		MessageKey: "message", LevelKey: "level", ConsoleSeparator: " ", LineEnding: "\n",
		EncodeLevel: func(l zapcore.Level, to zapcore.PrimitiveArrayEncoder) {
			to.AppendString("agentos: " + l.String() + ":")
		},
		EncodeDuration: zapcore.StringDurationEncoder,
	}
	if level < zapcore.WarnLevel { // who asks for so much wants to see what took how long
		c.TimeKey, c.NameKey = "time", "name"
		c.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
	}
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(c), a.console.err, level)), nil
}
